// A lock that is held, until a deadline.
import { type CallOptions, onAbort, signalOf, throwIfAborted } from "./abort.js";
import { abortSignal, limit, milliseconds, type Names, options as known, work as checkWork } from "./check.js";
import { type Command, toRaw } from "./command.js";
import type { Host } from "./going-on.js";
import { Ending } from "./ending.js";
import { BusyError, CommandFailedError, EdgelockError, LostError, NotReplicatedError, ReservationError } from "./errors.js";
import { Held } from "./held.js";
import type { Call, Instance } from "./instance.js";
import { busy, expired, released, unavailable } from "./make-error.js";
import type { Came, RawLease, Reply, Thing } from "./raw.js";
import type { Value } from "./words.js";

/** For how long a lease is renewed. */
export interface RenewOptions extends CallOptions {
  /**
   * Whole milliseconds from now: 4 ms to 366 days. Default: what the lease was acquired with. Over
   * several bridges at most the lock's ttl, or the client's `restartQuarantine` if longer.
   */
  readonly ttl?: number | undefined;
}

/** How a lease is kept. */
export interface RunOptions {
  /** For how many ms at most; `Infinity` has no end. Default 15 minutes, or the ttl if longer. */
  readonly maxHold?: number | undefined;
  /** Tells the work to stop: it aborts the lease's own signal. The lease is kept meanwhile. */
  readonly signal?: AbortSignal | undefined;
}

/** How a lease is kept beside work that is not in one function. */
export interface KeepAliveOptions extends Pick<RunOptions, "maxHold"> {
  /** Stops the renewals when it is aborted. Nothing is released then. */
  readonly signal?: AbortSignal | undefined;
}

/** Stops the renewals of {@link Lease.keepAlive}, as `using` does. Again it does nothing. */
export interface StopKeeping extends Disposable {
  (): void;
}

// If the host does not know these symbols, compilers agree on the registered ones.
const DISPOSE = Symbol.dispose ?? Symbol.for("Symbol.dispose");
const ASYNC_DISPOSE = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

const RENEW: Names<RenewOptions> = { ttl: 1, signal: 1 };
const KEEP: Names<RunOptions> & Names<KeepAliveOptions> = { maxHold: 1, signal: 1 };

function keeping(options: RunOptions): RunOptions {
  const { maxHold, signal } = known(options, KEEP, "a lease that is kept");
  return { maxHold: limit(maxHold, "maxHold"), signal: abortSignal(signal, "signal") };
}

/** What keeps a lease, or did last. */
interface Kept {
  isOn: boolean;
  /** Stops it, if its work does not do that itself. */
  readonly stop: () => void;
  /** Goes on without its work, for this reason. */
  abandon?: (reason: unknown) => void;
  /** Settled when it has ended in the module too, a moment after it was stopped. */
  ended: Promise<void> | undefined;
}

/**
 * The proof of a held lock, and what may be done under it.
 *
 * A lease ends by {@link Lease.release} or {@link Lease.commit}, at its deadline, or when it is
 * lost. `await using` releases it at the end of its block. `using` without `await` does so in the
 * background, which in a Worker needs `waitUntil`. If nobody ends it, the ttl frees the lock.
 *
 * Calls may overlap, but only one `exec`, `commit` or `release` may be under way at a time: a
 * second one gets a `BusyError`. Once a release or a commit was sent, only another of these two may
 * follow, even if its outcome is unknown. `remaining` is 0 from then on.
 */
export class Lease implements Disposable, AsyncDisposable {
  /** Gives the lock back in the background: `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** Gives the lock back: `await using`. */
  declare readonly [Symbol.asyncDispose]: () => Promise<void>;
  /** The lock's name. */
  readonly name: string;
  readonly #held: Held;
  /** A resumed lease has no known deadline until it was renewed. */
  #hasDeadline: boolean;
  readonly #ending: Ending;
  #wasToldLost = false;
  /** How many releases and commits are under way. */
  #endings = 0;
  #fence: number;
  #kept: Kept | undefined;

  private constructor(name: string, key: string, instance: Instance, raw: RawLease, host: Host, unknownFor: number | undefined) {
    this.name = name;
    this.#held = new Held(key, instance, raw, host);
    this.#fence = raw.fence;
    this.#hasDeadline = unknownFor === undefined;
    const left = () => (this.#hasDeadline && this.#endings === 0 ? this.#left : undefined);
    this.#ending = new Ending(key, left, () => this.#kept?.stop());
    this.#ending.outlive(host, (reason) => {
      this.#kept?.abandon?.(reason);
      this.giveBack();
    }, unknownFor);
  }

  /**
   * @internal Of one that is resumed, nobody knows the deadline. `unknownFor` is how long it lasts
   * at most, as far as its lock knows.
   */
  static of(name: string, key: string, instance: Instance, raw: RawLease, host: Host, unknownFor?: number): Lease {
    return new Lease(name, key, instance, raw, host, unknownFor);
  }

  /**
   * A number that is higher than that of every earlier lease of this name. A store outside of Redis
   * that refuses a write with a lower fence than the last one is safe from a holder that outlived
   * its lease. A resumed lease learns its fence by its first renewal or `exec`; until then this is
   * 0.
   */
  get fence(): number {
    if (this.#fence === 0 && !this.#held.isGone && !this.#held.hasFailed) this.#fence = Number(this.#held.ask("fence"));
    return this.#fence;
  }

  /** The token of this acquisition: whoever has it can {@link Lock.resume} the lease. A secret. */
  get token(): string {
    return this.#held.token;
  }

  /**
   * How long the lease surely lasts yet, in whole milliseconds of a local clock that nobody sets,
   * rounded down. 0 once it is over, or a release or a commit was sent. In a deployed Worker that
   * clock stands still between requests, so it misses time spent computing.
   */
  get remaining(): number {
    return Math.floor(this.#left);
  }

  /**
   * When the lease ends unless it is renewed, by the host's wall clock; `null` if no time is left.
   * For display and logs: the wall clock may be wrong, so decide by {@link Lease.remaining}.
   */
  get expiresAt(): Date | null {
    const { remaining } = this;
    return remaining > 0 ? new Date(Date.now() + remaining) : null;
  }

  /**
   * Aborted when the lease is over, with the reason: it was lost, it ran out, it was given back, or
   * the outcome of a release or a commit is unknown. While work runs under the lease, also when the
   * `signal` of {@link Lock.run} tells the work to stop; then the lease is still held.
   */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Gives the lease its full ttl again: the one that it was acquired with, or the lock's `ttl` if
   * it was resumed by a lock that sets one. The option `ttl` sets another one, once. A renewal
   * never shortens the time for which Redis keeps the lock.
   *
   * After `lost` and `expired` the lease is over; after any other error it is unchanged. The error
   * is `busy` while a release or a commit is under way, and `released` after that.
   */
  async renew(options: RenewOptions = {}): Promise<void> {
    const { ttl, signal } = known(options, RENEW, "a renewal");
    await this.#prolong(["renew", milliseconds(ttl, "ttl")], abortSignal(signal, "signal"));
  }

  /**
   * Makes a reader of a {@link ReadWrite}'s writer, and renews it. No other writer gets the lock in
   * between, and readers may join from then on. Token and fence stay. A reader cannot become a
   * writer: release, and acquire to write. For any other lease this throws `invalid_argument`, and
   * sends nothing. If the outcome is unknown, or after a {@link NotReplicatedError}, call again.
   */
  async downgrade(options: CallOptions = {}): Promise<void> {
    await this.#prolong(["downgrade"], signalOf(options));
  }

  /**
   * Runs commands if the lease is still held, and renews it, in one request. They are applied
   * exactly once, or not at all; only an error that `isOutcomeUnknown` leaves that open. After a
   * {@link NotReplicatedError} they were applied.
   */
  async exec(commands: readonly Command[], options: CallOptions = {}): Promise<Reply[]> {
    return this.#prolong(["exec", toRaw(commands)], signalOf(options));
  }

  /** Runs commands as {@link Lease.exec} does, and releases the lease in the same request. */
  async commit(commands: readonly Command[], options: CallOptions = {}): Promise<Reply[]> {
    return (await this.#finish(["commit", toRaw(commands)], signalOf(options))).replies;
  }

  /**
   * @internal As {@link Lease.commit}. The reply to a command that failed is its error. The next
   * holder is told what the last commands, so many, find: these only read.
   */
  async commitEach(commands: readonly Command[], told: number): Promise<Reply[]> {
    return (await this.#finish(["commitEach", toRaw(commands), told])).replies;
  }

  /** @internal A turn of one request. Behind it the lock is given on, or another lease has it. */
  async turn(words: readonly Value[]): Promise<Came> {
    return this.#finish(["turn", ...words]);
  }

  /** @internal Gives the lock back by a commit of the module's own. */
  async store(commit: (lease: Thing) => Thing): Promise<void> {
    await this.#finish(commit);
  }

  /** Gives the lock back. After any error but `lost` and `released`, try again: that is safe. */
  async release(options: CallOptions = {}): Promise<void> {
    await this.#finish(["release"], signalOf(options));
  }

  /**
   * Runs `work`, renews the lease every third of its ttl meanwhile, and releases it at the end,
   * whatever happened. {@link Lock.run} does this with the lease that it acquires.
   *
   * If the lease is over, or already kept (`busy`), this rejects and `work` is not called. A
   * resumed lease is renewed first, and `maxHold` counts from then. If the lease is lost, or the
   * option `signal` is aborted, so is the lease's `signal`. After a loss this rejects at once, and
   * nothing that the work writes through the lease arrives. After the option's abort it rejects
   * once the work has ended, with the reason or with what the work throws.
   */
  async run<T>(work: (lease: this) => T | PromiseLike<T>, options: RunOptions = {}): Promise<T> {
    checkWork(work);
    const { maxHold, signal } = keeping(options);
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
    let hasBegun = false;
    const begin = async () => {
      hasBegun = true;
      // A resumed lease was renewed for it.
      this.#goOn();
      try {
        const gone = new Promise<never>((_, reject) => (kept.abandon = reject));
        outcome = { value: await Promise.race([this.#ending.stoppable(() => work(this), signal), gone]) };
      } catch (error) {
        outcome = { error };
      }
      // It is given back next, so nothing remains.
      this.#endings++;
    };
    let failure: { readonly error: unknown } | undefined;
    if (this.#kept?.isOn) throw this.#ending.hasCome ? this.#gone() : busy(this.#held.key);
    const kept: Kept = { isOn: true, stop: () => {}, ended: this.#kept?.ended };
    this.#kept = kept;
    try {
      if (kept.ended) await kept.ended;
      await this.#call(() => this.#held.keep(maxHold, begin));
    } catch (error) {
      if (!hasBegun) throw error;
      failure = { error };
    } finally {
      kept.isOn = false;
    }
    const why = failure?.error;
    this.#ending.come(why instanceof EdgelockError ? () => why : released);
    // If the release got lost, it goes on in the background.
    this.giveBack();
    // If the work failed, its error is thrown, whatever the state of the lock. But what the lease's
    // own signal told it knows nothing of its writes.
    if (outcome !== undefined && "error" in outcome) throw failure && outcome.error === this.#ending.reason ? failure.error : outcome.error;
    if (failure !== undefined || outcome === undefined) throw failure?.error;
    return outcome.value;
  }

  /**
   * Renews the lease every third of its ttl, until the returned function is called, or until the
   * end of a block with `using`; nothing is released then. For work that is not in one function.
   *
   * The renewals also end with the lease, whose `signal` says why, and with their host: a Worker
   * goes on with them if the client has `waitUntil`. After `maxHold` the lock is given back, and
   * the reason is `max_hold_exceeded`. A resumed lease is renewed at once. This throws the reason
   * if the lease is known to be over, and `busy` if it is already kept.
   */
  keepAlive(options: KeepAliveOptions = {}): StopKeeping {
    const { signal, maxHold } = keeping(options);
    throwIfAborted([signal]);
    if (this.#held.isGone || this.#ending.hasCome) throw this.#gone();
    if (this.#kept?.isOn || this.#endings > 0) throw busy(this.#held.key);
    if (this.#hasDeadline && this.#left === 0) throw expired(this.#held.key);
    const stopper = new AbortController();
    const stop = () => {
      if (!kept.isOn) return;
      kept.isOn = false;
      quiet();
      stopper.abort();
      // A resumed lease was renewed for it.
      this.#goOn(this.remaining > 0);
    };
    const quiet = onAbort([signal], stop);
    const before = this.#kept?.ended;
    const kept: Kept = { isOn: true, stop, ended: undefined };
    this.#kept = kept;
    const keep = async () => {
      if (before) await before;
      if (kept.isOn) await this.#held.during(() => this.#held.keep(maxHold, undefined, stopper.signal));
    };
    kept.ended = keep().catch((error: unknown) => {
      // If a release or a commit came first, the lease ends as that one does.
      if (stopper.signal.aborted || error instanceof BusyError) return stop();
      this.#ending.come(error instanceof EdgelockError ? () => error : released);
    });
    return Object.assign(stop, { [DISPOSE]: stop }) as unknown as StopKeeping;
  }

  /**
   * Hands the lease over to whoever gets the token and resumes it. Sends nothing, and releases
   * nothing. Work that runs under the lease may go on, and its `run` returns what the work returns.
   * The error is `busy` while a write is under way. Only one handler at a time may use a lease.
   */
  handOver(): string {
    if (this.#held.isGone) throw this.#gone();
    this.#held.ask("handOver");
    this.#leave();
    return this.#held.token;
  }

  /** @internal Gives the lock back in the background, once the calls under way have returned. */
  giveBack(): void {
    if (!this.#held.isGone && !this.#held.hasFailed) this.#leave(true);
  }

  /** @internal Gives the lock back, and tells of a loss that nobody was told of yet. */
  async dispose(): Promise<void> {
    if (this.#held.isGone) return;
    const wasToldLost = this.#wasToldLost;
    try {
      await this.release();
    } catch (error) {
      const lost = [error, this.#ending.error].find((why) => why instanceof LostError);
      if (lost && !wasToldLost) throw lost;
      // In any other case the block ran under the lock. A release that got lost goes on.
      this.giveBack();
    }
  }

  /** What remains, to the fraction of a millisecond: the signal is not to fire before. */
  get #left(): number {
    return this.#ending.hasCome || this.#held.hasFailed ? 0 : this.#held.remaining;
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    if (this.#held.isGone) throw this.#gone();
    try {
      return await this.#held.during(call);
    } catch (error) {
      if (error instanceof LostError) {
        this.#wasToldLost = true;
        this.#ending.come(() => error);
        if (error.code === "lost" && !error.isOutcomeUnknown) this.#free();
      }
      throw error;
    }
  }

  /** A write that renews. */
  async #prolong(call: readonly Value[], signal: AbortSignal | undefined): Promise<Reply[]> {
    const { replies } = await this.#call(() => this.#held.drive(call, signal));
    this.#goOn();
    return replies;
  }

  /** The deadline has moved, and is known if it `hasOne`. */
  #goOn(hasOne = true): void {
    this.#hasDeadline ||= hasOne;
    this.#ending.watch();
  }

  /** A release or a commit. Meanwhile no time is left, and the signal waits for the outcome. */
  async #finish(end: Call, signal?: AbortSignal): Promise<Came> {
    throwIfAborted([signal]);
    this.#endings++;
    try {
      const came = await this.#call(() => this.#held.drive(end, signal));
      this.#free();
      return came;
    } catch (error) {
      // It was given back nevertheless.
      if (error instanceof CommandFailedError || error instanceof NotReplicatedError || error instanceof ReservationError) this.#free();
      else if (error instanceof EdgelockError && error.isOutcomeUnknown) this.#ending.come(() => error);
      else if (signal?.aborted && error === signal.reason) this.#ending.come(() => unavailable("the call that ended the lease was aborted", true, this.#held.key, error));
      throw error;
    } finally {
      this.#endings--;
      this.#ending.watch();
    }
  }

  /** For calls after the end. It never says that such a call may have been executed. */
  #gone(): EdgelockError {
    const why = this.#ending.error;
    // What ran out may be given back nevertheless.
    const isGivenBack = this.#held.isGone && why?.code === "expired";
    return why === undefined || why.isOutcomeUnknown || isGivenBack ? released(this.#held.key) : why;
  }

  /** It is over for good. */
  #free(): void {
    if (this.#held.isGone || this.#held.hasFailed) return this.#ending.come(released);
    this.#leave();
  }

  #leave(givesBack = false): void {
    // The module forgets it.
    this.#fence = this.fence;
    this.#held.leave(givesBack);
    this.#ending.come(released);
    this.#held.forget();
  }
}

Object.defineProperties(Lease.prototype, {
  [DISPOSE]: { value: Lease.prototype.giveBack },
  [ASYNC_DISPOSE]: { value: Lease.prototype.dispose },
});
