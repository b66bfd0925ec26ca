// A name that can be locked.
import { type CallOptions, signalOf } from "./abort.js";
import { text } from "./check.js";
import { type Command, toRaw } from "./command.js";
import type { Host } from "./driver.js";
import type { LockEvent } from "./event.js";
import { type Instance, instance, Revivable } from "./instance.js";
import { Lease } from "./lease.js";
import type { Inspection, RawAcquisition, RawCommands, RawLease, RawLock, RawSteps, Reply } from "./raw.js";

/** How to ask for a lock. Durations are milliseconds; a limit of `Infinity` is none. */
export interface LockOptions {
  /**
   * How long a lease lasts unless it is renewed: 4 ms to 366 days, in whole milliseconds. 10,000 by default. A resumed lease is
   * renewed for it only if it was set, else for what the lock was acquired for.
   */
  readonly ttl?: number | undefined;
  /**
   * How long to wait for another holder, or for a bridge that is away, at most. 5,000 by default; 0 is not to wait. It bounds when requests
   * are sent, not when they are answered: a lock that is free is had however short the wait.
   */
  readonly wait?: number | undefined;
  /** Whether acquisitions wait their turn even when the lock is free: who came first has it first. Off by default. */
  readonly fair?: boolean | undefined;
  /**
   * How many requests one acquisition may send before it gives up; 0 counts as 1. 40 by default, which keep a place in the queue for up to
   * 5 minutes: whoever asks less often than every 10 s, or its ttl if that is shorter, loses it.
   */
  readonly maxRequests?: number | undefined;
  /** How long {@link Lock.run} keeps the lock by renewing it, at most. By default 15 minutes, or the ttl if that is longer. */
  readonly maxHold?: number | undefined;
  /**
   * A list that is fed when the lock becomes free and is handed to nobody: python-redis-lock's waiters for its lock `sku:42`, which is the
   * key `lock:sku:42`, block on `lock-signal:sku:42`. The whole key, without the client's prefix; on a cluster, with the lock's hash tag.
   */
  readonly signalList?: string | undefined;
  /**
   * What others are told of who holds the lock: by {@link Lock.inspect}, and by {@link HeldError}. Up to 128 bytes. Everybody who may ask for
   * the lock can read it, so it is no place for a secret.
   */
  readonly label?: string | undefined;
  /**
   * How many replicas of Redis must have the lock, and within how many milliseconds, before it counts as held; fewer are an
   * {@link NotReplicatedError}. None by default. The bridge must have Upstash's `/pipeline`.
   */
  readonly waitForReplicas?: { readonly count: number; readonly within: number } | undefined;
  /**
   * Ends what waits: the call rejects with its reason. By then it has sent what gives up the lock and the place in the queue, which
   * takes effect when it arrives, half a round trip later; if a release handed it the lock in between, that hands the lock on. In a Worker
   * the client needs `waitUntil` for it, or the host may stop it with the response.
   *
   * It counts for all calls of the lock, and each may have one of its own besides: {@link CallOptions}. Work that {@link Lock.run} has
   * begun is told of that call's only.
   */
  readonly signal?: AbortSignal | undefined;
}

/** How to ask for a semaphore, which no other program's waiters block for: it has no signal list. */
export type SemaphoreOptions = Omit<LockOptions, "signalList">;

/**
 * How to ask for a lock that its owner may take again. Those who wait for it do not queue, so it cannot be fair, and are told by
 * Redisson's channel, so it has no signal list. Its owner says who holds it, so it has no label.
 */
export type ReentrantOptions = Omit<LockOptions, "fair" | "signalList" | "label">;

/** @internal What the client that made a lock knows. */
export interface Maker extends Host {
  /** Whether one turn of it is over before the next begins. */
  readonly hasTurns: boolean;
  readonly requestTimeout: number;
  readonly tell: (event: LockEvent) => void;
  readonly read: (reads: readonly Command[]) => Promise<Reply[]>;
  /** The same lock with other options. */
  readonly again: (options: LockOptions) => Lock;
}

/** @internal What a group commit must know of a lock. */
export interface Home extends Maker {
  readonly key: string;
  readonly ttl: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
  /** The same lock for a turn of many: it waits for so long, and heeds no caller's signal. */
  readonly patient: (wait: number) => Lock;
  /** Throws if these could not ride on an acquisition. */
  readonly check: (reads: RawCommands) => void;
}

/** @internal One acquisition that several callers ask for, one after the other. The twin of src/acquisition.rs, which says why. */
export class Acquisition {
  readonly #raw = new Revivable<RawAcquisition>(() => new (instance().raw.Acquisition)());

  get raw(): RawAcquisition {
    return this.#raw.get().value;
  }

  /** Nobody asks for it any more. */
  free(): void {
    const { instance, value } = this.#raw.get();
    instance.call(() => value.free());
  }
}

/** A name that one holder at a time may have, or so many, and how to ask for it. Made by a {@link Client}. */
export class Lock {
  /** The name that was asked for. */
  readonly name: string;
  /** Its key in Redis: what errors call it. */
  readonly #key: string;
  readonly #raw: Revivable<RawLock>;
  readonly #options: LockOptions;
  readonly #maker: Maker;

  private constructor(name: string, key: string, raw: Revivable<RawLock>, options: LockOptions, maker: Maker) {
    this.name = name;
    this.#key = key;
    this.#raw = raw;
    this.#options = options;
    this.#maker = maker;
  }

  /** @internal */
  static of(name: string, key: string, raw: Revivable<RawLock>, options: LockOptions, maker: Maker): Lock {
    return new Lock(name, key, raw, options, maker);
  }

  /** @internal */
  get home(): Home {
    const { ttl = 10_000, wait = 5_000, signal } = this.#options;
    const { instance, value: lock } = this.#raw.get();
    return {
      ...this.#maker,
      key: this.#key,
      ttl,
      wait,
      signal,
      patient: (wait) => this.#maker.again({ ...this.#options, wait, signal: undefined }),
      check: (reads) => instance.call(() => lock.checkReads(reads)),
    };
  }

  /**
   * Takes the lock if it is free; `null` if another has it. One request, unless requests get lost. Who has it and for how long yet is
   * said by {@link Lock.inspect}, and by the {@link HeldError} of {@link Lock.acquire} with a `wait` of 0.
   */
  async tryAcquire(options: CallOptions = {}): Promise<Lease | null> {
    const { instance, value } = await this.#wait((lock) => lock.tryAcquire(), options);
    return value && this.#lease({ instance, value });
  }

  /**
   * As {@link Lock.tryAcquire}, and reads in the same request, whether it takes the lock or finds that another has it: then there is no
   * lease, and no error. Which of the two, and what the reads found, are of one instant.
   */
  async tryAcquireAndRead(reads: readonly Command[], options: CallOptions = {}): Promise<[lease: Lease | null, replies: Reply[]]> {
    const commands = toRaw(reads);
    const { instance, value } = await this.#wait((lock) => lock.tryAcquireAndRead(commands), options);
    const [lease, replies] = value;
    return [lease && this.#lease({ instance, value: lease }), replies];
  }

  /** Takes the lock as soon as it is free, for up to `wait`; then throws a {@link HeldError}, and gives up its place as by the `signal`. */
  async acquire(options: CallOptions = {}): Promise<Lease> {
    return this.#lease(await this.#wait((lock) => lock.acquire(), options));
  }

  /** As {@link Lock.acquire}, and reads what the critical section needs in the same request, under the lock. */
  async acquireAndRead(reads: readonly Command[], options: CallOptions = {}): Promise<[lease: Lease, replies: Reply[]]> {
    const commands = toRaw(reads);
    const { instance, value } = await this.#wait((lock) => lock.acquireAndRead(commands), options);
    const [lease, replies] = value;
    return [this.#lease({ instance, value: lease }), replies];
  }

  /**
   * @internal As {@link Lock.acquireAndRead}; `reads` is asked before each request that may take the lock, and whoever asks for the
   * same acquisition later goes on with what this call had of it.
   */
  async acquireAs(acquisition: Acquisition, reads: () => readonly Command[]): Promise<[lease: Lease, replies: Reply[]]> {
    // Whoever comes in the same moment is to be in the first request.
    await undefined;
    const { instance, value } = await this.#wait((lock) => lock.acquireAs(acquisition.raw, () => toRaw(reads())));
    const [lease, replies] = value;
    return [this.#lease({ instance, value: lease }), replies];
  }

  /**
   * Takes the lock and does `work` under it; renews it for as long as that takes, up to `maxHold`, and gives it back at the end
   * whatever happened. What the work returns or throws is returned or thrown as it is.
   *
   * When the lease is lost, this rejects at once and the lease's `signal` is aborted; pass it on to whatever the work awaits. If a write
   * of the work was under way then, or the outcome of its last one is unknown, the error `isOutcomeUnknown`.
   *
   * When the `signal` of this call is aborted, the wait ends, or the work is told: the lease's `signal` is aborted with the same
   * reason. The lock is kept until the work has ended, and given back then; this rejects with the reason, or with what the work throws.
   */
  async run<T>(work: (lease: Lease) => T | PromiseLike<T>, options: CallOptions = {}): Promise<T> {
    const lease = await this.acquire(options);
    return lease.run(work, { maxHold: this.#options.maxHold, signal: options.signal });
  }

  /** Who holds the lock, for how long yet, and the last fence. For people and for monitoring: to decide by, acquire. */
  async inspect(options: CallOptions = {}): Promise<Inspection> {
    const { value } = await this.#wait((lock) => lock.inspect(), options);
    // Whoever has the token can release the lock: it must not get into a log by itself.
    for (const holder of value.holders) Object.defineProperty(holder, "token", { enumerable: false });
    return { holder: value.holders[0] ?? null, ...value };
  }

  /** Frees the lock, whoever holds it; whether anybody did. The holder learns it at its next call. For operators. */
  async forceRelease(options: CallOptions = {}): Promise<boolean> {
    return (await this.#wait((lock) => lock.forceRelease(), options)).value;
  }

  /**
   * The lease behind a token that was {@link Lease.handOver | handed over} from another handler. Sends nothing: renew it to learn
   * whether it is still held; until then `remaining` and `fence` are 0.
   *
   * One handler at a time may have the lease. Hand it over only when its calls have been answered: what the other handler sent and gave
   * up on could be executed between this one's writes, and if it repeats a write behind one of these, its outcome is unknown.
   */
  resume(token: string): Lease {
    const { instance, value: lock } = this.#raw.get();
    text(token, "a token");
    return Lease.of(this.name, this.#key, instance, instance.call(() => lock.resume(token)), this.#maker, true);
  }

  /** @internal Nobody calls it any more: some hosts do not say when JavaScript has forgotten something. */
  free(): void {
    const { instance, value: lock } = this.#raw.get();
    instance.call(() => lock.free());
  }

  #lease({ instance, value }: { readonly instance: Instance; readonly value: RawLease }): Lease {
    return Lease.of(this.name, this.#key, instance, value, this.#maker);
  }

  async #wait<T>(
    call: (lock: RawLock) => RawSteps<T>,
    options: CallOptions = {},
  ): Promise<{ instance: Instance; value: T }> {
    const signals = [this.#options.signal, signalOf(options, "a call")];
    const { instance, value: lock } = this.#raw.get();
    return { instance, value: await instance.drive(() => call(lock), this.#maker, signals, this.#key) };
  }
}
