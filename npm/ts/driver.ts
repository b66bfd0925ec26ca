/// <reference path="./glue.d.ts" />
// Drives the module's operations: it sends what they ask for, wakes them, listens for them, and
// tells them what happened. The counterpart of src/drive.rs.
import { Exchange, Stream } from "edgelock-exchange";
import { LONGEST_TIMER } from "./check.js";
import { InternalError } from "./errors.js";
import type { GoingOn } from "./going-on.js";
import type { Instance } from "./instance.js";
import { withCause, withThrown } from "./make-error.js";
import { type Came, type RawLease, type Thing, Told } from "./raw.js";
import { LineReader, reply, type Said } from "./words.js";

/** What a client's operations are driven with. */
export interface Host {
  /** In place of the host's own `fetch`. */
  readonly fetch?: ((url: string, init: never) => unknown) | undefined;
  /** Has what is under way outlive its caller. */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /** Aborted when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
  /** What does not end then. */
  readonly goingOn: GoingOn;
  readonly requestTimeout?: number | undefined;
}

/** Something that a call waits for. After a detachment it belongs to another driver. */
interface Flight {
  driver: Driver;
  readonly abort: () => void;
}

/** How an exchange ended, as exchange.js says it. */
type Ended = (failure: number, status: number, header: string | undefined, text: string, thrown: unknown) => void;

/** Drives one call. */
export class Driver {
  readonly #instance: Instance;
  readonly #call: Thing;
  readonly #host: Host;
  readonly #resolve: (came: Came) => void;
  readonly #reject: (failure: unknown) => void;
  readonly #flights = new Map<number, Flight>();
  #isInside = false;
  #wasSent = false;
  /** Its outcome was told; whoever gives up now comes too late. */
  #hasCome = false;
  #isDone = false;

  constructor(instance: Instance, call: Thing, host: Host, resolve: (came: Came) => void, reject: (failure: unknown) => void) {
    this.#instance = instance;
    this.#call = call;
    this.#host = host;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** A bridge may have got a request of it. */
  get wasSent(): boolean {
    return this.#wasSent;
  }

  start(): void {
    this.#tell(Told.Begin);
  }

  /** Ends it, with everything that it waits for; rejects with this reason. */
  cancel(reason: unknown): void {
    if (this.#isDone || this.#hasCome) return;
    // What the module calls back may end the call.
    if (this.#isInside) return void Promise.resolve().then(() => this.cancel(reason));
    this.#abort();
    this.#tell(Told.Cancel);
    this.#end(() => this.#reject(reason));
  }

  /** The module has failed, and with it all that it had under way. */
  giveUp(failure: unknown): void {
    this.#end(() => this.#reject(failure));
  }

  #tell(what: Told, id = 0, failure = 0, status = 0, text = "", thrown?: unknown): void {
    if (this.#isDone) return;
    let wishes;
    this.#isInside = true;
    try {
      wishes = withThrown(thrown, () => this.#read(this.#instance.call(() => this.#call.tell(what, id, failure, status, text))));
    } catch (error) {
      return this.giveUp(error);
    } finally {
      this.#isInside = false;
    }
    // Only now: a `fetch`, or the code that gets the outcome, may call anything.
    for (const wish of wishes) wish();
  }

  /** What the module wishes for, as `src/web/steps.rs` writes it. */
  #read(said: string): Array<() => void> {
    const lines = new LineReader(said);
    const wishes = [];
    while (!lines.isOver) wishes.push(this.#wish(lines));
    return wishes;
  }

  #wish(lines: LineReader): () => void {
    const line = lines.next().split(" ");
    const id = Number(line[1]);
    switch (line[0]) {
      case "send": {
        const mail = mailOf(line, lines);
        return () => this.#send(id, mail);
      }
      case "listen": {
        const mail = mailOf(line, lines);
        return () => this.#listen(id, mail);
      }
      case "wake":
        return () => this.#wake(id, Number(line[2]));
      case "stop":
        return () => {
          this.#flights.get(id)?.abort();
          this.#flights.delete(id);
        };
      case "detach": {
        const call = this.#next();
        return () => this.#detach(call, line.slice(1).map(Number));
      }
      case "done": {
        const came = this.#came(lines.next());
        return () => this.#end(() => this.#resolve(came));
      }
      case "fail": {
        this.#hasCome = true;
        const failure = withCause(JSON.parse(lines.next()));
        return () => this.#end(() => this.#reject(failure));
      }
      default:
        throw new InternalError("the module wishes for what this side does not know", undefined);
    }
  }

  #next(): Thing {
    return this.#instance.call(() => this.#call.made())!;
  }

  #came(text: string): Came {
    this.#hasCome = true;
    const { lease, replies = [], at, sent, value } = JSON.parse(text) as Omit<Came, "lease" | "replies"> & { lease?: Omit<RawLease, "thing">; replies?: Said[] };
    return { lease: lease && { ...lease, thing: this.#next() }, replies: replies.map(reply), at, sent, value };
  }

  #send(id: number, { url, headers, body, limit, timeout }: Mail): void {
    if (this.#isDone) return;
    const done: Ended = (failure, status, header, text, thrown) => this.#landed(flight, Told.Answered, id, failure, status, `${inOneLine(header)}\n${text}`, thrown);
    this.#wasSent = true;
    const exchange = new Exchange(this.#host.fetch, url, headers, body, limit, timeout, done);
    const flight = this.#launched(id, () => exchange.abort());
  }

  #listen(id: number, { url, headers, body, timeout }: Mail): void {
    if (this.#isDone) return;
    const decoder = new TextDecoder();
    const hear = (piece: Uint8Array) => flight.driver.#tell(Told.Heard, id, 0, 0, decoder.decode(piece, { stream: true }));
    const done: Ended = (failure, status, _, text) => this.#landed(flight, Told.Ended, id, failure, status, text);
    const stream = new Stream(this.#host.fetch, url, headers, body, timeout, hear, done);
    const flight = this.#launched(id, () => stream.abort());
  }

  #wake(id: number, ms: number): void {
    if (this.#isDone) return;
    let left = ms;
    let timer: ReturnType<typeof setTimeout>;
    const woken = () => (left > 0 ? sleep() : this.#landed(flight, Told.Woken, id));
    const sleep = () => {
      const part = Math.min(left, LONGEST_TIMER);
      left -= part;
      try {
        timer = setTimeout(woken, part);
      } catch {
        // On a host that refuses timers no time can pass: it is woken at once.
        left = 0;
        void Promise.resolve().then(woken);
      }
    };
    sleep();
    const flight = this.#launched(id, () => clearTimeout(timer));
  }

  /** Another driver goes on with `call`: with what has these ids, or from its beginning. */
  #detach(call: Thing, ids: readonly number[]): void {
    const { driver, outcome } = drive(this.#instance, call, this.#host);
    for (const id of ids) {
      const flight = this.#flights.get(id);
      if (flight === undefined) continue;
      this.#flights.delete(id);
      flight.driver = driver;
      driver.#flights.set(id, flight);
    }
    if (ids.length === 0) driver.start();
    void inBackground(outcome, this.#host);
  }

  #launched(id: number, abort: () => void): Flight {
    const flight = { driver: this, abort };
    // A `fetch` may have ended the call for which it is called.
    if (this.#isDone) abort();
    else this.#flights.set(id, flight);
    return flight;
  }

  #landed({ driver }: Flight, what: Told, id: number, failure?: number, status?: number, text?: string, thrown?: unknown): void {
    driver.#flights.delete(id);
    driver.#tell(what, id, failure, status, text, thrown);
  }

  #abort(): void {
    for (const flight of this.#flights.values()) flight.abort();
    this.#flights.clear();
  }

  #end(settle: () => void): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#abort();
    if (!this.#instance.hasFailed) this.#instance.call(() => this.#call.free());
    settle();
  }
}

/** A request of the module's. */
interface Mail {
  readonly url: string;
  readonly headers: object;
  readonly body: string;
  /** How many bytes its answer may have. */
  readonly limit: number;
  readonly timeout: number;
}

function mailOf(line: readonly string[], lines: LineReader): Mail {
  const [timeout, limit] = [Math.min(Number(line[2]), LONGEST_TIMER), Number(line[3])];
  return { url: lines.next(), headers: headersOf(lines.next()), body: lines.next(), limit, timeout };
}

/** The last headers, which seldom change, and their text. */
let last: { readonly text: string; readonly headers: object } | undefined;

function headersOf(text: string): object {
  if (last?.text !== text) {
    const words = JSON.parse(text) as string[];
    last = { text, headers: Object.fromEntries(words.flatMap((name, at) => (at % 2 ? [] : [[name, words[at + 1]]]))) };
  }
  // A `fetch` of the caller's may write to its own.
  return { ...last.headers };
}

/** A header that somebody's `fetch` made up may have line breaks. */
function inOneLine(header = ""): string {
  return header.replaceAll("\n", " ");
}

/** One that drives `call`, once it is started, and what that comes to. */
export function drive(instance: Instance, call: Thing, host: Host): { readonly driver: Driver; readonly outcome: Promise<Came> } {
  let driver!: Driver;
  const outcome = new Promise<Came>((resolve, reject) => {
    driver = new Driver(instance, call, host, resolve, reject);
  });
  return { driver, outcome };
}

/**
 * It goes on though its caller is gone, and though nobody waits for what comes of it; whatever the
 * host says to that. A host may stop all else as soon as this is settled: what is to go on behind
 * it must be in the background by then.
 */
export function inBackground<T>(outcome: Promise<T>, host: Host): Promise<T> {
  const quiet = outcome.catch(() => {});
  try {
    host.waitUntil?.(quiet);
  } catch {
    // Then it goes on as without it.
  }
  return outcome;
}
