// How to ask for a lock, of each kind.

/** How to ask for a lock. Durations are whole milliseconds; `Infinity` means no limit. */
export interface LockOptions {
  /**
   * How long a lease lasts unless it is renewed: 4 ms to 366 days. Default 10,000. A resumed lease
   * is renewed for this only if it was set, else for what the lock was acquired with.
   */
  readonly ttl?: number | undefined;
  /**
   * How long to wait at most: for another holder, or for a bridge that is away. Default 5,000; 0
   * tries once. It bounds when requests are sent, not when they are answered, so a short wait still
   * gets a free lock. If 10,000 others wait for the lock, or 10,000 callers of this process or
   * isolate wait for any lock, the call fails with `held` at once.
   */
  readonly wait?: number | undefined;
  /**
   * Whether acquisitions are granted in order of arrival, even when the lock is free. Default off:
   * a newcomer may overtake waiters, which raises throughput.
   */
  readonly fair?: boolean | undefined;
  /**
   * How many requests one acquisition may send: 1 or more. Default 40. Repeats of lost requests
   * count, and so do listening and giving up. With fewer than 4 it does not queue, and giving up
   * may take one more; so may giving up a lock that was handed over behind the last request. In a
   * quorum the limit is for each bridge, an acquisition waits with 5 or more, and requests that a
   * majority did not wait for, that raise the fence, or that give up may exceed it.
   *
   * A waiter that asks less often than every 10 s (or its ttl, if that is shorter) loses its place
   * in the queue. So 40 requests keep a place for up to 5 minutes.
   */
  readonly maxRequests?: number | undefined;
  /** For how long {@link Lock.run} renews at most. Default 15 minutes, or the ttl if longer. */
  readonly maxHold?: number | undefined;
  /**
   * A list that gets an element when the lock becomes free and is handed to nobody, for other
   * programs' waiters to block on: python-redis-lock's lock `sku:42` is the key `lock:sku:42`, and
   * its waiters block on `lock-signal:sku:42`. Give the whole key, without the client's prefix. On
   * a cluster it must have the lock's hash tag.
   */
  readonly signalList?: string | undefined;
  /**
   * Takes the lock over if another has it. That holder's lease ends, Redis refuses its writes
   * through the lease, and its calls throw a {@link LostError}. Use it if only the latest caller
   * counts: an agent's turn in one conversation, one editor. Only for a plain lock behind one
   * bridge, without a signal list.
   *
   * It goes ahead of all waiters, who keep their places, so it cannot be `fair`. The old holder
   * learns of it at its next call or renewal, or at once if it listens, and works on until then; a
   * store outside of Redis must compare {@link Lease.fence | fences}. A lock of another program is
   * not taken over: the call fails with `held` after its wait, or 30 s if that is shorter. An
   * acquisition whose own lock was taken over before its reply came fails with `lost`.
   */
  readonly takeOver?: boolean | undefined;
  /**
   * Whether a holder listens while its lease is kept, by {@link Lock.run}, {@link Lease.run} or
   * {@link Lease.keepAlive}. If the lock is taken over or freed by force, the lease's signal is
   * aborted within a round trip, and not at the next renewal. Default off.
   *
   * It costs a request that lasts as long as the work, and a renewal once it listens. A forged
   * message makes the holder renew, and no more. The client cannot listen over several bridges,
   * with several names, or with a name that has a comma, a `%` or a control character.
   */
  readonly listen?: boolean | undefined;
  /**
   * What others learn about the holder, by {@link Lock.inspect} and by {@link HeldError}. Up to 128
   * bytes. Everybody who may ask for the lock can read it, so put no secret in it.
   */
  readonly label?: string | undefined;
  /**
   * How many replicas of Redis must have the lock, and within how many milliseconds (1 to 60,000),
   * before it counts as held. Renewals, `exec` and `commit` wait for them too. If fewer
   * acknowledge, the call throws a {@link NotReplicatedError}. Default none. The bridge must
   * support Upstash's `/pipeline`.
   */
  readonly waitForReplicas?: { readonly count: number; readonly within: number } | undefined;
  /**
   * Ends a wait: the call rejects with the signal's reason. By then it has sent the request that
   * gives up the lock and the place in the queue; if a release handed the lock to this call
   * meanwhile, that hands it on. In a Worker the client needs `waitUntil` for that.
   *
   * It counts for all calls of the lock. Each call may have one of its own besides:
   * {@link CallOptions}. Work that {@link Lock.run} has begun learns only of that one.
   */
  readonly signal?: AbortSignal | undefined;
}

/** How to ask for a semaphore. */
export interface SemaphoreOptions extends Omit<LockOptions, "signalList" | "takeOver"> {
  /** How many permits one lease takes, all or none: 1 to as many as there are. Default 1. */
  readonly weight?: number | undefined;
}

/** How to reserve units. Nobody queues. Default `ttl`: 10 minutes. Default `wait`: 0. */
export interface ReservationOptions extends Omit<LockOptions, "fair" | "signalList" | "label" | "takeOver"> {
  /** How many units it reserves, all or none: 1 to as many as there are. Default 1. */
  readonly weight?: number | undefined;
  /**
   * For whom it reserves, and how many units that owner may have reserved at once; a call that
   * would exceed this throws a {@link ReservationError}. Default: no owner, and no bound. The `id`
   * has up to 128 bytes. Use one that the caller cannot choose, as that of a checked session. Only
   * {@link Lock.inspect} shows it, as the label.
   */
  readonly owner?: { readonly id: string; readonly most: number } | undefined;
}

/** @internal What a lock of any kind may be asked for. */
export type AnyLockOptions = LockOptions & SemaphoreOptions & ReservationOptions;

/**
 * How to ask for a read/write lock. A reader is `fair` by default: it waits behind a writer that
 * came before. With `fair: false` it goes ahead of that writer.
 */
export type ReadWriteOptions = Omit<LockOptions, "signalList" | "takeOver">;

/** How to ask for several names at once, which are `fair` by default. */
export type LockAllOptions = Omit<LockOptions, "signalList" | "takeOver">;

/** One of several limits: a semaphore, and how many of its permits one lease takes. */
export interface Limit {
  readonly name: string;
  /** How many permits it has: 1 or more. */
  readonly limit: number;
  /** How many of them one lease takes: 1 to the limit. Default 1. */
  readonly permits?: number | undefined;
}

/** How to ask for several limits, which cannot be fair. */
export type LimitsOptions = Omit<LockOptions, "fair" | "signalList" | "takeOver">;

/** How to ask for a reentrant lock, whose waiters do not queue. The owner says who holds it. */
export type ReentrantOptions = Omit<LockOptions, "fair" | "signalList" | "label" | "takeOver">;
