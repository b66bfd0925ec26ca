/// <reference path="./glue.d.ts" />
// Drives the module's operations: it sends what they ask for, wakes them, listens for them, and
// tells them what happened. The counterpart of src/drive.rs.
import { type Done, Exchange, Stream } from "edgelock-exchange";
import { LONGEST_TIMER } from "./check.js";
import { InternalError } from "./errors.js";
import { type Host, inBackground } from "./going-on.js";
import { withCause, withThrown } from "./make-error.js";
import { type Came, type RawLease, type Thing, Told } from "./raw.js";
import { reply, type Said } from "./words.js";

/** What a call waits for. After a detachment it belongs to another driver. */
interface Flight {
  driver: Driver;
  readonly abort: () => void;
}

export interface Module {
  readonly hasFailed: boolean;
  call<T>(call: () => T): T;
}

/** Drives one call, once it is started. */
export class Driver {
  readonly outcome: Promise<Came>;
  readonly #module: Module;
  readonly #call: Thing;
  readonly #host: Host;
  #resolve!: (came: Came) => void;
  #reject!: (failure: unknown) => void;
  readonly #flights = new Map<number, Flight>();
  #isInside = false;
  #wasSent = false;
  /** Its outcome was told; whoever gives up now comes too late. */
  #hasCome = false;
  #isDone = false;

  constructor(module: Module, call: Thing, host: Host) {
    this.#module = module;
    this.#call = call;
    this.#host = host;
    this.outcome = new Promise((resolve, reject) => ([this.#resolve, this.#reject] = [resolve, reject]));
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
      wishes = withThrown(thrown, () => this.#read(this.#module.call(() => this.#call.tell(what, id, failure, status, text))));
    } catch (error) {
      return this.giveUp(error);
    } finally {
      this.#isInside = false;
    }
    // Only now: a `fetch`, or the code that gets the outcome, may call anything.
    for (const wish of wishes) wish();
  }

  /** What the module wishes for, as `npm/host/steps.rs` writes it. */
  #read(said: string): Array<() => void> {
    const lines = said.split("\n").slice(0, -1);
    const wishes = [];
    while (lines.length > 0) wishes.push(this.#wish(() => lines.shift()!));
    return wishes;
  }

  #wish(next: () => string): () => void {
    const line = next().split(" ");
    const id = Number(line[1]);
    switch (line[0]) {
      case "send":
      case "listen": {
        const mail = mailOf(line, next);
        return () => (line[0] === "send" ? this.#send(id, mail) : this.#listen(id, mail));
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
        const came = this.#came(next());
        return () => this.#end(() => this.#resolve(came));
      }
      case "fail": {
        this.#hasCome = true;
        const failure = withCause(JSON.parse(next()));
        return () => this.#end(() => this.#reject(failure));
      }
      default:
        throw new InternalError("the module wishes for what this side does not know", undefined);
    }
  }

  #next(): Thing {
    return this.#module.call(() => this.#call.made())!;
  }

  #came(text: string): Came {
    this.#hasCome = true;
    const { lease, replies = [], ...others } = JSON.parse(text) as Omit<Came, "lease" | "replies"> & { lease?: Omit<RawLease, "thing">; replies?: Said[] };
    return { lease: lease && { ...lease, thing: this.#next() }, replies: replies.map(reply), ...others };
  }

  #send(id: number, { url, headers, body, limit, timeout }: Mail): void {
    if (this.#isDone) return;
    // A header that somebody's `fetch` made up may have line breaks.
    const done: Done = (failure, status, header = "", text, thrown) => this.#landed(flight, Told.Answered, id, failure, status, `${header.replaceAll("\n", " ")}\n${text}`, thrown);
    this.#wasSent = true;
    const exchange = new Exchange(this.#host.fetch, url, headers, body, limit, timeout, done);
    const flight = this.#launched(id, () => exchange.abort());
  }

  #listen(id: number, { url, headers, body, timeout }: Mail): void {
    if (this.#isDone) return;
    const decoder = new TextDecoder();
    const hear = (piece: Uint8Array) => flight.driver.#tell(Told.Heard, id, 0, 0, decoder.decode(piece, { stream: true }));
    const done: Done = (failure, status, _, text) => this.#landed(flight, Told.Ended, id, failure, status, text);
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
    const driver = new Driver(this.#module, call, this.#host);
    for (const id of ids) {
      const flight = this.#flights.get(id);
      if (flight === undefined) continue;
      this.#flights.delete(id);
      flight.driver = driver;
      driver.#flights.set(id, flight);
    }
    if (ids.length === 0) driver.start();
    void inBackground(driver.outcome, this.#host);
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
    if (!this.#module.hasFailed) this.#module.call(() => this.#call.free());
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

function mailOf(line: readonly string[], next: () => string): Mail {
  const [timeout, limit] = [Math.min(Number(line[2]), LONGEST_TIMER), Number(line[3])];
  return { url: next(), headers: headersOf(next()), body: next(), limit, timeout };
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

