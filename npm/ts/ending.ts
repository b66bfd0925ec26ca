// When a lease is over, and why; and the signal that says so.
import { onAbort, throwIfAborted } from "./abort.js";
import { LONGEST_TIMER } from "./check.js";
import { type Host, inBackground } from "./going-on.js";
import type { EdgelockError } from "./errors.js";
import { aborted, expired } from "./make-error.js";

/** Makes the error that says why. It costs a stack trace, so it is made only when it is needed. */
type Why = (lock: string) => EdgelockError;

export class Ending {
  readonly #lock: string;
  readonly #left: () => number | undefined;
  readonly #stop: () => void;
  #why: Why | undefined;
  #controller: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Lets the host stop what belongs to the lease. */
  #letGo: (() => void) | undefined;
  #deafen = () => {};

  /** `left` tells what remains, if a deadline counts. `stop` stops what must not outlive it. */
  constructor(lock: string, left: () => number | undefined, stop: () => void) {
    this.#lock = lock;
    this.#left = left;
    this.#stop = stop;
  }

  /**
   * Has the host go on until the end has come. Once the caller is gone, the work is told to stop,
   * and `abandon` gets the reason after half of a request's time. The release has the other half.
   * While no deadline is known, the host waits for `unknownFor` milliseconds: nothing may tell it
   * of the end.
   */
  outlive(host: Host, abandon: (reason: unknown) => void, unknownFor?: number): void {
    const { waitUntil, signal, goingOn, requestTimeout } = host;
    if (waitUntil) void inBackground(new Promise<void>((over) => (this.#letGo = over)), host);
    this.watch();
    let unknown: ReturnType<typeof setTimeout> | undefined;
    if (waitUntil && unknownFor !== undefined) unknown = timer(unknownFor, () => this.#left() === undefined && this.#letGo?.());
    let grace: ReturnType<typeof setTimeout> | undefined;
    const gone = () => {
      this.stopWork(signal?.reason);
      grace = timer(requestTimeout / 2, () => abandon(signal?.reason));
    };
    const deafen = signal && goingOn.onceGone(signal, gone);
    this.#deafen = () => {
      deafen?.();
      clearTimeout(grace);
      clearTimeout(unknown);
    };
  }

  get hasCome(): boolean {
    return this.#why !== undefined;
  }

  get error(): EdgelockError | undefined {
    return this.#why?.(this.#lock);
  }

  get reason(): unknown {
    return this.#controller?.signal.reason;
  }

  /** It is made when somebody wants it. */
  get signal(): AbortSignal {
    return this.#control().signal;
  }

  /** Aborts the signal, though the lease goes on. */
  stopWork(reason: unknown): void {
    this.#control().abort(reason);
  }

  /**
   * What `work` comes to, unless it must not begin any more. Aborts the lease's signal when
   * `signal` is aborted; what the work returns after that is not used.
   */
  async stoppable<T>(work: () => T | PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
    throwIfAborted([signal, this.#controller?.signal], this.#lock);
    if (this.#why) throw aborted(this.error, false, this.#lock);
    if (signal === undefined) return work();
    const deafen = onAbort([signal], () => this.stopWork(signal.reason));
    try {
      const value = await work();
      if (signal.aborted) throw aborted(signal.reason, true, this.#lock);
      return value;
    } finally {
      deafen();
    }
  }

  /** If it was over before, the first reason stays. */
  come(why: Why): void {
    this.#why ??= why;
    this.#stop();
    clearTimeout(this.#timer);
    this.#deafen();
    this.#letGo?.();
    this.#controller?.abort(this.#why(this.#lock));
  }

  /** The end comes at the deadline, wherever that has moved by then. */
  watch(): void {
    clearTimeout(this.#timer);
    if ((this.#controller === undefined && this.#letGo === undefined) || this.#why) return;
    const left = this.#left();
    if (left === undefined) return;
    if (left === 0) return this.come(expired);
    this.#timer = timer(Math.ceil(left), () => this.watch());
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

function timer(ms: number, fire: () => void): ReturnType<typeof setTimeout> {
  const timer: unknown = setTimeout(fire, Math.min(ms, LONGEST_TIMER));
  // In Node a timer alone would keep the process alive.
  if (typeof timer === "object" && timer !== null && "unref" in timer) (timer as { unref(): void }).unref();
  return timer as ReturnType<typeof setTimeout>;
}
