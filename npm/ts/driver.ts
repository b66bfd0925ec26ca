/// <reference path="./glue.d.ts" />
// Drives the module's operations: it sends what they ask for, wakes them, listens for them, and
// tells them what happened. The counterpart of src/drive.rs.
import { Exchange, Stream } from "edgelock-exchange";
import { LONGEST_TIMER } from "./check.js";
import type { GoingOn } from "./going-on.js";
import type { Instance } from "./instance.js";
import type { RawSteps } from "./raw.js";

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

/** Something that an operation waits for. After a detachment it belongs to another driver. */
interface Flight {
  driver: Driver;
  readonly abort: () => void;
}

/**
 * Drives one operation. Except for `start` and `cancel`, its methods are for the module, which
 * calls them while it gets an input.
 */
export class Driver {
  readonly #instance: Instance;
  readonly #steps: RawSteps<unknown>;
  readonly #host: Host;
  readonly #resolve: (value: never) => void;
  readonly #reject: (failure: unknown) => void;
  readonly #flights = new Map<number, Flight>();
  /**
   * Done once the module has returned: a `fetch`, or the code that gets the outcome, may call
   * anything.
   */
  #wishes: Array<() => void> = [];
  #isInside = false;
  #wasSent = false;
  /** Its outcome was told; whoever gives up now comes too late. */
  #hasCome = false;
  #isDone = false;

  constructor(instance: Instance, steps: RawSteps<unknown>, host: Host, resolve: (value: never) => void, reject: (failure: unknown) => void) {
    this.#instance = instance;
    this.#steps = steps;
    this.#host = host;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** A bridge may have got a request of it. */
  get wasSent(): boolean {
    return this.#wasSent;
  }

  start(): void {
    this.#tell((steps) => steps.start(this));
  }

  /** Ends it, with everything that it waits for; rejects with this reason. */
  cancel(reason: unknown): void {
    if (this.#isDone || this.#hasCome) return;
    if (this.#isInside) return void this.#wishes.push(() => this.cancel(reason));
    this.#abort();
    this.#tell((steps) => steps.cancel(this));
    this.#end(() => this.#reject(reason));
  }

  /** The module has failed, and with it all that it had under way. */
  giveUp(failure: unknown): void {
    this.#end(() => this.#reject(failure));
  }

  send(id: number, url: string, headers: object, body: string, bodyLimit: number, timeout: number): void {
    this.#wish(() => {
      const done = (failure: number, status: number, header: string | undefined, text: string, thrown: unknown) =>
        this.#landed(id, flight, (steps, driver) => steps.answered(driver, id, failure, status, header, text, thrown));
      this.#wasSent = true;
      const exchange = new Exchange(this.#host.fetch, url, headers, body, bodyLimit, timeout, done);
      const flight = this.#launched(id, () => exchange.abort());
    });
  }

  listen(id: number, url: string, headers: object, body: string, timeout: number): void {
    this.#wish(() => {
      const hear = (piece: Uint8Array) => flight.driver.#tell((steps) => steps.heard(flight.driver, id, piece));
      const done = (failure: number, status: number, _: unknown, text: string) =>
        this.#landed(id, flight, (steps, driver) => steps.ended(driver, id, failure, status, text));
      const stream = new Stream(this.#host.fetch, url, headers, body, timeout, hear, done);
      const flight = this.#launched(id, () => stream.abort());
    });
  }

  wake(id: number, ms: number): void {
    this.#wish(() => {
      let left = Math.ceil(ms);
      let timer: ReturnType<typeof setTimeout>;
      const woken = () => (left > 0 ? sleep() : this.#landed(id, flight, (steps, driver) => steps.woken(driver, id)));
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
    });
  }

  stop(id: number): void {
    this.#wishes.push(() => {
      this.#flights.get(id)?.abort();
      this.#flights.delete(id);
    });
  }

  detach(steps: RawSteps<void>, ids: Uint32Array): void {
    this.#wishes.push(() => {
      const { driver, outcome } = drive(this.#instance, steps, this.#host);
      for (const id of ids) {
        const flight = this.#flights.get(id);
        if (flight === undefined) continue;
        this.#flights.delete(id);
        flight.driver = driver;
        driver.#flights.set(id, flight);
      }
      if (ids.length === 0) driver.start();
      void inBackground(outcome, this.#host);
    });
  }

  done(value: unknown): void {
    this.#hasCome = true;
    this.#wishes.push(() => this.#end(() => this.#resolve(value as never)));
  }

  fail(failure: unknown): void {
    this.#hasCome = true;
    this.#wishes.push(() => this.#end(() => this.#reject(failure)));
  }

  /** What is cancelled meanwhile waits for nothing new. */
  #wish(act: () => void): void {
    this.#wishes.push(() => {
      if (!this.#isDone) act();
    });
  }

  #launched(id: number, abort: () => void): Flight {
    const flight = { driver: this, abort };
    // A `fetch` may have ended the call for which it is called.
    if (this.#isDone) abort();
    else this.#flights.set(id, flight);
    return flight;
  }

  #landed(id: number, flight: Flight, tell: (steps: RawSteps<unknown>, driver: Driver) => void): void {
    const { driver } = flight;
    driver.#flights.delete(id);
    driver.#tell((steps) => tell(steps, driver));
  }

  #tell(tell: (steps: RawSteps<unknown>) => void): void {
    if (this.#isDone) return;
    this.#isInside = true;
    try {
      this.#instance.call(() => tell(this.#steps));
    } catch (error) {
      return this.giveUp(error);
    } finally {
      this.#isInside = false;
    }
    const wishes = this.#wishes;
    this.#wishes = [];
    for (const wish of wishes) wish();
  }

  #abort(): void {
    for (const flight of this.#flights.values()) flight.abort();
    this.#flights.clear();
  }

  #end(settle: () => void): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#abort();
    if (!this.#instance.hasFailed) this.#instance.call(() => this.#steps.free());
    settle();
  }
}

/** One that drives `steps`, once it is started, and what they come to. */
export function drive<T>(instance: Instance, steps: RawSteps<T>, host: Host): { readonly driver: Driver; readonly outcome: Promise<T> } {
  let driver!: Driver;
  const outcome = new Promise<T>((resolve, reject) => {
    driver = new Driver(instance, steps, host, resolve, reject);
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
