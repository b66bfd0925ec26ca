// A lock that is held, until a deadline.
import { abortable, type CallOptions, onAbort, signalOf, throwIfAborted } from "./abort.js";
import { abortSignal, milliseconds, type Names, options as known } from "./check.js";
import { type Command, toRaw } from "./command.js";
import { busy, BusyError, CommandFailedError, EdgelockError, expired, LostError, released, unavailable, type NotReplicatedError } from "./errors.js";
import type { Instance } from "./instance.js";
import type { RawLease, Reply } from "./raw.js";

/** Hosts keep timers as signed 32-bit milliseconds, and fire longer ones at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

// Where the host does not know these symbols, compilers agree on the registered ones.
const DISPOSE = Symbol.dispose ?? Symbol.for("Symbol.dispose");
const ASYNC_DISPOSE = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** For how long a lease is renewed. */
export interface RenewOptions extends CallOptions {
  /**
   * Milliseconds from now: 4 ms to 366 days, whole ones. By default what the lease was acquired for. Over several bridges it is no longer
   * than the lock's ttl, or the client's `restartQuarantine`.
   */
  readonly ttl?: number | undefined;
}

/** How a lease is kept. */
export interface RunOptions {
  /** For how many milliseconds at most; `Infinity` is without limit. By default 15 minutes, or the ttl if that is longer. */
  readonly maxHold?: number | undefined;
  /** Has the work told that it is to stop: the lease's own signal is aborted with the same reason, while the lease is kept on. */
  readonly signal?: AbortSignal | undefined;
}

/** How a lease is kept beside work that is in no one function. */
export interface KeepAliveOptions extends Pick<RunOptions, "maxHold"> {
  /** Ends it when it is aborted; nothing is released then. */
  readonly signal?: AbortSignal | undefined;
}

const RENEW: Names<RenewOptions> = { ttl: 1, signal: 1 };
const KEEP: Names<RunOptions> & Names<KeepAliveOptions> = { maxHold: 1, signal: 1 };
const KEPT = "a lease that is kept";

/** What keeps a lease, or did last. */
interface Kept {
  isOn: boolean;
  /** Ends it, if that is not for its work to do. */
  readonly stop: () => void;
  /** Settled when it has ended in the module too, which is a moment after it was stopped. */
  ended: Promise<void> | undefined;
}

/** Ends what {@link Lease.keepAlive} began; `using` does so at the end of its block. To call it again does nothing. */
export interface StopKeeping extends Disposable {
  (): void;
}

/**
 * The proof of a held lock, and what may be done under it.
 *
 * A lease ends by {@link Lease.release} or {@link Lease.commit}, by its deadline, or by being lost. `await using` releases it at the
 * end of its block; `using` alone does so too, in the background, which in a Worker needs `waitUntil`. One that is merely forgotten
 * is left to its ttl.
 *
 * Calls may overlap, except that of `exec`, `commit` and `release` one at a time runs: the second gets a `BusyError`. Once a release
 * or a commit was sent, only these two may follow, also if its outcome `isOutcomeUnknown`: nothing remains of the lease then.
 */
export class Lease implements Disposable, AsyncDisposable {
  /** Gives the lock back in the background: `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** Gives the lock back: `await using`. */
  declare readonly [Symbol.asyncDispose]: () => Promise<void>;
  /** The lock's name. */
  readonly name: string;
  /** The lock's key in Redis: what errors call it. */
  readonly #key: string;
  readonly #instance: Instance;
  readonly #raw: RawLease;
  /** A resumed lease has none that is known until it was renewed. */
  #hasDeadline: boolean;
  /** Why it is over. An error costs a stack trace, so it is made when somebody wants it. */
  #over: ((lock: string) => EdgelockError) | undefined;
  /** Given back or handed over: the module has it no more. */
  #isGone = false;
  /** Of one that the module has no more. */
  #lastToken: string | undefined;
  #wasToldLost = false;
  #controller: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** How many releases and commits are under way. */
  #endings = 0;
  #fence: number;
  #kept: Kept | undefined;

  private constructor(name: string, key: string, instance: Instance, raw: RawLease, isResumed: boolean) {
    this.name = name;
    this.#key = key;
    this.#fence = instance.call(() => raw.fence);
    this.#instance = instance;
    this.#raw = raw;
    this.#hasDeadline = !isResumed;
  }

  /** @internal */
  static of(name: string, key: string, instance: Instance, raw: RawLease, isResumed = false): Lease {
    return new Lease(name, key, instance, raw, isResumed);
  }

  /**
   * A number that is higher than that of every earlier lease of this name. Storage outside of Redis can refuse a write whose fence
   * is lower than the last it saw, and so be safe from a holder that outlived its lease. A resumed lease learns it by its first
   * renewal or `exec`, and has 0 until then.
   */
  get fence(): number {
    if (this.#fence === 0 && !this.#isGone && !this.#instance.hasFailed) this.#fence = this.#instance.call(() => this.#raw.fence);
    return this.#fence;
  }

  /** The proof of this acquisition: whoever has it can {@link Lock.resume} the lease. A secret. */
  get token(): string {
    if (this.#lastToken !== undefined) return this.#lastToken;
    if (this.#isGone) throw released(this.#key);
    return this.#instance.call(() => this.#raw.token);
  }

  /**
   * Whole milliseconds that the lease surely lasts yet, rounded down, by a local clock that nobody sets; 0 in the last of them, once
   * it is over, or a release or a commit was sent.
   *
   * In a deployed Worker the clock stands still between requests, so time spent computing is not seen.
   */
  get remaining(): number {
    return Math.floor(this.#left);
  }

  /**
   * When the lease is over unless it is renewed, by the host's wall clock: to be shown, logged, or told to others. `null` where nothing
   * is {@link Lease.remaining | remaining}. That clock may be wrong, and may be set, so what depends on the lease is decided by
   * `remaining`.
   */
  get expiresAt(): Date | null {
    const { remaining } = this;
    return remaining > 0 ? new Date(Date.now() + remaining) : null;
  }

  /**
   * Is aborted when the lease is over, with why as its reason: it was lost, it ran out, it was given back, or nobody knows what became
   * of a release or a commit. Of a lease that is kept for work, also when the work is told to stop, by the `signal` of {@link Lock.run};
   * then the lease is held yet, and the reason is that signal's.
   */
  get signal(): AbortSignal {
    return this.#control().signal;
  }

  /**
   * Gives the lease its ttl again: that of its acquisition. One that was resumed is given the lock's `ttl` if that was set. With a `ttl`
   * it is given that, this once. Where Redis keeps the lock for longer, that is not cut short. After `lost` and `expired` it is over;
   * after any other error it is as it was. While a release or a commit is under way this is `busy`, and then `released`.
   */
  async renew(options: RenewOptions = {}): Promise<void> {
    const { ttl, signal } = known(options, RENEW, "a renewal");
    const ms = milliseconds(ttl, "ttl");
    await this.#call((aborted) => this.#raw.renew(ms, aborted), abortSignal(signal, "signal"));
    this.#hasDeadline = true;
    this.#watch();
  }

  /**
   * Runs commands if the lease is still held, and renews it, in one request. They are applied exactly once, or not at all; only an
   * error that `isOutcomeUnknown` leaves that open. After an {@link NotReplicatedError} they are applied.
   */
  async exec(commands: readonly Command[], options: CallOptions = {}): Promise<Reply[]> {
    const raw = toRaw(commands);
    const replies = await this.#call((aborted) => this.#raw.exec(raw, aborted), signalOf(options, "a call"));
    this.#hasDeadline = true;
    this.#watch();
    return replies;
  }

  /** Runs commands if the lease is still held, and releases it, in one request. As with {@link Lease.exec}, exactly once or not. */
  async commit(commands: readonly Command[], options: CallOptions = {}): Promise<Reply[]> {
    const raw = toRaw(commands);
    return this.#finish((aborted) => this.#raw.commit(raw, aborted), signalOf(options, "a call"));
  }

  /** Gives the lock back. After an error that is neither `lost` nor `released`, releasing again is safe, and worth trying. */
  async release(options: CallOptions = {}): Promise<void> {
    await this.#finish((aborted) => this.#raw.release(aborted), signalOf(options, "a call"));
  }

  /**
   * Does `work` while the lease is renewed every third of its ttl, and releases it at the end whatever happened: what
   * {@link Lock.run} does with the lease that it acquires. If the lease is over, this rejects and `work` is not called. One that was
   * resumed is renewed before, and `maxHold` counts from then, unless it was renewed already. While it is kept already this is `busy`.
   *
   * When the lease is lost, this rejects at once and the lease's `signal` is aborted; work that does not heed it goes on, but nothing
   * it writes through the lease arrives. When the `signal` that this is given is aborted, that of the lease is too, and this rejects
   * with the reason once the work has ended, or with what the work throws; before the work has begun, it is not called.
   */
  async run<T>(work: (lease: this) => T | PromiseLike<T>, options: RunOptions = {}): Promise<T> {
    const { maxHold, signal } = known(options, KEEP, KEPT);
    const maxHoldMs = milliseconds(maxHold, "maxHold");
    abortSignal(signal, "signal");
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
    let hasBegun = false;
    const begin = async () => {
      hasBegun = true;
      // A resumed lease was renewed for it.
      this.#hasDeadline = true;
      this.#watch();
      // Not under the module, which calls this.
      await undefined;
      try {
        outcome = { value: await this.#stoppable(work, signal) };
      } catch (error) {
        outcome = { error };
      }
      // It is given back next, so nothing remains.
      this.#endings++;
    };
    let failure: { readonly error: unknown } | undefined;
    if (this.#kept?.isOn) throw this.#over ? this.#gone() : busy(this.#key);
    const kept: Kept = { isOn: true, stop: () => {}, ended: this.#kept?.ended };
    this.#kept = kept;
    try {
      if (kept.ended) await kept.ended;
      await this.#call(() => this.#raw.keep(begin, maxHoldMs));
    } catch (error) {
      if (!hasBegun) throw error;
      failure = { error };
    } finally {
      kept.isOn = false;
    }
    const why = failure?.error;
    this.#end(why instanceof EdgelockError ? () => why : released);
    // A release that got lost goes on in the background.
    this.giveBack();
    // Work that failed is to be told why it failed, whatever became of the lock.
    if (outcome !== undefined && "error" in outcome) throw outcome.error;
    if (failure !== undefined || outcome === undefined) throw failure?.error;
    return outcome.value;
  }

  /**
   * Renews the lease every third of its ttl, from now until what this returns is called: for work that is in no one function. `using`
   * ends it with its block; nothing is released then. It ends with the lease, whose `signal` says when and why, and after
   * `maxHold`, as {@link Lease.run} does: then the lock is given back, and the reason is `max_hold_exceeded`.
   *
   * One that was resumed is renewed at once. If the lease is known to be over this throws why, and `busy` if it is kept already. Nothing of it
   * goes on when its host is stopped: in a Worker that is with the response.
   */
  keepAlive(options: KeepAliveOptions = {}): StopKeeping {
    const { signal, ...limit } = known(options, KEEP, KEPT);
    const maxHold = milliseconds(limit.maxHold, "maxHold");
    throwIfAborted([abortSignal(signal, "signal")]);
    if (this.#isGone || this.#over) throw this.#gone();
    if (this.#kept?.isOn || this.#endings > 0) throw busy(this.#key);
    if (this.#hasDeadline && this.#left === 0) throw expired(this.#key);
    let settle!: () => void;
    const stopped = new Promise<void>((resolve) => (settle = resolve));
    const stop = () => {
      if (!kept.isOn) return;
      kept.isOn = false;
      quiet();
      settle();
      // A resumed lease was renewed for it.
      this.#hasDeadline ||= this.remaining > 0;
      this.#watch();
    };
    const quiet = onAbort([signal], stop);
    const before = this.#kept?.ended;
    const kept: Kept = { isOn: true, stop, ended: undefined };
    this.#kept = kept;
    const keep = async () => {
      if (before) await before;
      if (kept.isOn) await this.#instance.wait(() => this.#raw.keepAlive(stopped, maxHold), this.#key);
    };
    kept.ended = keep().catch((error: unknown) => {
      // Nothing is thrown where it was stopped. Where a release or a commit came before, that one's end is the lease's.
      if (error === undefined || error instanceof BusyError) return stop();
      this.#end(error instanceof EdgelockError ? () => error : released);
    });
    return Object.assign(stop, { [DISPOSE]: stop }) as unknown as StopKeeping;
  }

  /** What comes of `work`, which is told of `signal` by that of the lease. What it returns in spite of it is not wanted any more. */
  async #stoppable<T>(work: (lease: this) => T | PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
    if (signal === undefined) return work(this);
    if (signal.aborted) throw signal.reason;
    const tell = () => this.#control().abort(signal.reason);
    signal.addEventListener("abort", tell, { once: true });
    try {
      const value = await work(this);
      if (signal.aborted) throw signal.reason;
      return value;
    } finally {
      signal.removeEventListener("abort", tell);
    }
  }

  /**
   * Hands the lease over, to whoever gets the token and resumes it. Sends nothing, and releases nothing. Work under it that is kept may
   * go on, and what it returns is returned. While an `exec`, `commit` or `release` is under way this is `busy`. One handler
   * at a time may have the lease: hand it over when its calls have been answered.
   */
  handOver(): string {
    if (this.#isGone) throw this.#gone();
    const token = this.#instance.call(() => this.#raw.handOver());
    this.#instance.call(() => this.#raw.free());
    this.#leave();
    return token;
  }

  /** @internal Gives the lock back in the background. */
  giveBack(): void {
    if (this.#isGone || this.#instance.hasFailed) return;
    this.#instance.call(() => this.#raw.giveBack());
    this.#leave();
  }

  /** @internal Gives the lock back, and tells of a loss that nobody was told of yet. */
  async dispose(): Promise<void> {
    if (this.#isGone) return;
    const wasToldLost = this.#wasToldLost;
    try {
      await this.release();
    } catch (error) {
      const lost = [error, this.#over?.(this.#key)].find((why) => why instanceof LostError);
      if (lost && !wasToldLost) throw lost;
      // Whatever else may be, the block was done under the lock; a release that got lost goes on behind it.
      this.giveBack();
    }
  }

  /** What remains, to the fraction of a millisecond: the signal is not to fire before. */
  get #left(): number {
    if (this.#over || this.#instance.hasFailed) return 0;
    return this.#instance.call(() => this.#raw.remaining);
  }

  async #call<T>(call: (aborted?: Promise<void>) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#isGone) throw this.#gone();
    try {
      return await abortable([signal], (aborted) => this.#instance.wait(() => call(aborted), this.#key));
    } catch (error) {
      if (error instanceof LostError) {
        this.#wasToldLost = true;
        this.#end(() => error);
        if (error.code === "lost" && !error.isOutcomeUnknown) this.#free();
      }
      throw error;
    }
  }

  /** A release or a commit. While it is under way nothing remains, and the signal waits for what becomes of it. */
  async #finish<T>(call: (aborted?: Promise<void>) => Promise<T>, signal?: AbortSignal): Promise<T> {
    throwIfAborted([signal]);
    this.#endings++;
    try {
      const value = await this.#call(call, signal);
      this.#free();
      return value;
    } catch (error) {
      if (error instanceof CommandFailedError) this.#free();
      else if (error instanceof EdgelockError && error.isOutcomeUnknown) this.#end(() => error);
      else if (signal?.aborted && error === signal.reason) this.#end(() => unavailable("the call that ended the lease was aborted", true, this.#key, error));
      throw error;
    } finally {
      this.#endings--;
      this.#watch();
    }
  }

  /** What calls are told that come after the end: it says of none of them that it may have been executed. */
  #gone(): EdgelockError {
    const why = this.#over?.(this.#key);
    return why === undefined || why.isOutcomeUnknown ? released(this.#key) : why;
  }

  /** It is over for good, and the module need not keep it: some hosts do not say when JavaScript has forgotten something. */
  #free(): void {
    if (this.#isGone || this.#instance.hasFailed) return this.#end(released);
    this.#lastToken = this.token;
    this.#instance.call(() => this.#raw.free());
    this.#leave();
  }

  #leave(): void {
    this.#isGone = true;
    this.#end(released);
  }

  #end(why: (lock: string) => EdgelockError): void {
    this.#over ??= why;
    this.#kept?.stop();
    clearTimeout(this.#timer);
    this.#controller?.abort(this.#over(this.#key));
  }

  /** What aborts the signal. It is made when somebody wants it. */
  #control(): AbortController {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#over) this.#controller.abort(this.#over(this.#key));
      else this.#watch();
    }
    return this.#controller;
  }

  /** Fires the signal at the deadline, wherever that has moved by then. */
  #watch(): void {
    clearTimeout(this.#timer);
    if (this.#controller === undefined || this.#over || !this.#hasDeadline || this.#endings > 0) return;
    const left = this.#left;
    if (left === 0) return this.#end(expired);
    const timer: unknown = setTimeout(() => this.#watch(), Math.min(Math.ceil(left), LONGEST_TIMER));
    this.#timer = timer as ReturnType<typeof setTimeout>;
    // In Node a timer alone would keep the process.
    if (typeof timer === "object" && timer !== null && "unref" in timer) (timer as { unref(): void }).unref();
  }
}

Object.defineProperties(Lease.prototype, {
  [DISPOSE]: { value: Lease.prototype.giveBack },
  [ASYNC_DISPOSE]: { value: Lease.prototype.dispose },
});
