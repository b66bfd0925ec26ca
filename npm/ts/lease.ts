// A lock that is held, until a deadline.
import { type CallOptions, onAbort, signalOf, throwIfAborted } from "./abort.js";
import { abortSignal, LONGEST_TIMER, milliseconds, type Names, options as known } from "./check.js";
import { type Command, toRaw } from "./command.js";
import { drive, type Host, inBackground } from "./driver.js";
import { busy, BusyError, CommandFailedError, EdgelockError, expired, LostError, released, unavailable, type NotReplicatedError } from "./errors.js";
import type { Instance } from "./instance.js";
import type { RawLease, RawSteps, Reply } from "./raw.js";

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

/** As the module says why there is nothing left to keep. */
const GIVEN_BACK = 0;

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
  readonly #host: Host;
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
  /** How many calls of the module are under way. */
  #calls = 0;
  #givesBack = false;
  #isForgotten = false;
  #fence: number;
  #kept: Kept | undefined;

  private constructor(name: string, key: string, instance: Instance, raw: RawLease, host: Host, isResumed: boolean) {
    this.name = name;
    this.#key = key;
    this.#fence = instance.call(() => raw.fence);
    this.#instance = instance;
    this.#raw = raw;
    this.#host = host;
    this.#hasDeadline = !isResumed;
  }

  /** @internal */
  static of(name: string, key: string, instance: Instance, raw: RawLease, host: Host, isResumed = false): Lease {
    return new Lease(name, key, instance, raw, host, isResumed);
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
    await this.#call(() => this.#drive(() => this.#raw.renew(ms), abortSignal(signal, "signal")));
    this.#hasDeadline = true;
    this.#watch();
  }

  /**
   * Runs commands if the lease is still held, and renews it, in one request. They are applied exactly once, or not at all; only an
   * error that `isOutcomeUnknown` leaves that open. After an {@link NotReplicatedError} they are applied.
   */
  async exec(commands: readonly Command[], options: CallOptions = {}): Promise<Reply[]> {
    const raw = toRaw(commands);
    const signal = signalOf(options, "a call");
    const replies = await this.#call(() => this.#drive(() => this.#raw.exec(raw), signal));
    this.#hasDeadline = true;
    this.#watch();
    return replies;
  }

  /** Runs commands if the lease is still held, and releases it, in one request. As with {@link Lease.exec}, exactly once or not. */
  async commit(commands: readonly Command[], options: CallOptions = {}): Promise<Reply[]> {
    const raw = toRaw(commands);
    return this.#finish(() => this.#raw.commit(raw), signalOf(options, "a call"));
  }

  /** Gives the lock back. After an error that is neither `lost` nor `released`, releasing again is safe, and worth trying. */
  async release(options: CallOptions = {}): Promise<void> {
    await this.#finish(() => this.#raw.release(), signalOf(options, "a call"));
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
      await this.#call(() => this.#keep(maxHoldMs, begin));
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
    const stopper = new AbortController();
    const stop = () => {
      if (!kept.isOn) return;
      kept.isOn = false;
      quiet();
      stopper.abort();
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
      if (kept.isOn) await this.#counted(() => this.#keep(maxHold, undefined, stopper.signal));
    };
    kept.ended = keep().catch((error: unknown) => {
      // Where it was stopped there is nothing to tell. Where a release or a commit came before, that one's end is the lease's.
      if (stopper.signal.aborted || error instanceof BusyError) return stop();
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
    this.#leave();
    return token;
  }

  /** @internal Gives the lock back in the background, once the calls that are under way have come back. */
  giveBack(): void {
    if (this.#isGone || this.#instance.hasFailed) return;
    this.#givesBack = true;
    this.#leave();
  }

  /** Nothing calls it any more: the module need not keep it. Some hosts do not say when JavaScript has forgotten something. */
  #forget(): void {
    if (!this.#isGone || this.#isForgotten || this.#instance.hasFailed) return;
    this.#isForgotten = true;
    const steps = this.#givesBack ? this.#instance.call(() => this.#raw.giveBack()) : undefined;
    this.#instance.call(() => this.#raw.free());
    if (steps === undefined) return;
    const { driver, outcome } = drive(this.#instance, steps, this.#host);
    driver.start();
    inBackground(outcome, this.#host);
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

  async #call<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isGone) throw this.#gone();
    try {
      return await this.#counted(call);
    } catch (error) {
      if (error instanceof LostError) {
        this.#wasToldLost = true;
        this.#end(() => error);
        if (error.code === "lost" && !error.isOutcomeUnknown) this.#free();
      }
      throw error;
    }
  }

  async #counted<T>(call: () => Promise<T>): Promise<T> {
    this.#calls++;
    try {
      return await call();
    } finally {
      this.#calls--;
      if (this.#calls === 0) this.#forget();
    }
  }

  #drive<T>(call: () => RawSteps<T>, signal?: AbortSignal): Promise<T> {
    return this.#instance.drive(call, this.#host, [signal], this.#key);
  }

  /**
   * Renews it until `work` has ended, and gives it back then; without work, until `signal` is aborted. Rejects with why there is nothing left
   * to keep.
   */
  async #keep(maxHold: number | undefined, work?: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    this.#instance.call(() => this.#raw.startKeeping());
    try {
      const until = await this.#drive(() => this.#raw.beginKeeping(maxHold), signal);
      const why = await this.#keepBeside(until, work?.(), signal);
      if (why === GIVEN_BACK && work === undefined) throw released(this.#key);
      await this.#drive(() => this.#raw.endKeeping(why));
    } finally {
      if (!this.#instance.hasFailed) this.#instance.call(() => this.#raw.quitKeeping());
    }
  }

  /** Why there is nothing left to keep, unless the work ended. */
  async #keepBeside(until: number, work: Promise<void> | undefined, signal: AbortSignal | undefined): Promise<number> {
    if (work === undefined) return this.#drive(() => this.#raw.keep(until), signal);
    const ended = new AbortController();
    const behind = work.then(() => {
      ended.abort();
      return GIVEN_BACK;
    });
    // Work that gave the lock back or handed it over may still have something to do.
    const kept = this.#drive(() => this.#raw.keep(until), ended.signal).then((why) => (why === GIVEN_BACK ? behind : why));
    return Promise.race([behind, kept]);
  }

  /** A release or a commit. While it is under way nothing remains, and the signal waits for what becomes of it. */
  async #finish<T>(call: () => RawSteps<T>, signal?: AbortSignal): Promise<T> {
    throwIfAborted([signal]);
    this.#endings++;
    try {
      const value = await this.#call(() => this.#drive(call, signal));
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

  /** It is over for good. */
  #free(): void {
    if (this.#isGone || this.#instance.hasFailed) return this.#end(released);
    this.#lastToken = this.token;
    this.#leave();
  }

  #leave(): void {
    this.#isGone = true;
    this.#end(released);
    if (this.#calls === 0) this.#forget();
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
