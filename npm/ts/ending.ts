// When a lease is over, and why; and the signal that says so.
import { LONGEST_TIMER } from "./check.js";
import type { EdgelockError } from "./errors.js";
import { expired } from "./make-error.js";

/** Makes the error that says why. It costs a stack trace, so it is made only when it is needed. */
type Why = (lock: string) => EdgelockError;

/** The end of one lease. */
export class Ending {
  readonly #lock: string;
  readonly #left: () => number | undefined;
  readonly #stop: () => void;
  #why: Why | undefined;
  #controller: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * `left` tells how many milliseconds remain; `undefined` while no deadline is known, or none
   * counts. `stop` stops what must not outlive the lease.
   */
  constructor(lock: string, left: () => number | undefined, stop: () => void) {
    this.#lock = lock;
    this.#left = left;
    this.#stop = stop;
  }

  get hasCome(): boolean {
    return this.#why !== undefined;
  }

  /** Why the lease is over, if it is. */
  get error(): EdgelockError | undefined {
    return this.#why?.(this.#lock);
  }

  /** Aborted when the lease is over. It is made when somebody wants it. */
  get signal(): AbortSignal {
    return this.#control().signal;
  }

  /** Aborts the signal, though the lease goes on. */
  stopWork(reason: unknown): void {
    this.#control().abort(reason);
  }

  /** The lease is over. If it was before, the first reason stays. */
  come(why: Why): void {
    this.#why ??= why;
    this.#stop();
    clearTimeout(this.#timer);
    this.#controller?.abort(this.#why(this.#lock));
  }

  /** Fires the signal at the deadline, wherever that has moved by then. */
  watch(): void {
    clearTimeout(this.#timer);
    if (this.#controller === undefined || this.#why) return;
    const left = this.#left();
    if (left === undefined) return;
    if (left === 0) return this.come(expired);
    const timer: unknown = setTimeout(() => this.watch(), Math.min(Math.ceil(left), LONGEST_TIMER));
    this.#timer = timer as ReturnType<typeof setTimeout>;
    // In Node a timer alone would keep the process alive.
    if (typeof timer === "object" && timer !== null && "unref" in timer) (timer as { unref(): void }).unref();
  }

  #control(): AbortController {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#why) this.#controller.abort(this.#why(this.#lock));
      else this.watch();
    }
    return this.#controller;
  }
}
