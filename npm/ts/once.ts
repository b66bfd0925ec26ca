// Work that is executed once for a key, and whose result is kept for whoever comes again.
import { type CallOptions, signalOf } from "./abort.js";
import type { Host } from "./driver.js";
import { resultUnreadable } from "./errors.js";
import type { Revivable } from "./instance.js";
import { Lease } from "./lease.js";
import type { LockOptions } from "./lock.js";
import type { RawOnce } from "./raw.js";

/** How work is executed once. Durations are milliseconds. */
export interface OnceOptions extends Pick<LockOptions, "maxHold" | "maxRequests" | "signal"> {
  /** How long the result is kept: 1 ms to 366 days, whole ones. 24 hours by default. Who comes later does the work again. */
  readonly keep?: number | undefined;
  /**
   * What tells one request from another that comes with the same key by mistake: a digest of the payload, of 1 to 128 bytes. A call with
   * another than that of what was executed, or is being, is a {@link FingerprintMismatchError}. It is looked at where both have
   * one. Whoever looks at the lock can read it, so it is no place for a secret.
   */
  readonly fingerprint?: string | undefined;
  /** How large a result may be as JSON, in bytes of UTF-8: up to 262,144, and 65,536 by default. */
  readonly maxBytes?: number | undefined;
  /** For how long the others wait if whoever does the work dies. 10,000 by default. The work may last longer: the lease is kept for it. */
  readonly ttl?: number | undefined;
  /** How long to wait for another that is at it: then a {@link HeldError} says when to come back. 5,000 by default. */
  readonly wait?: number | undefined;
}

/** What came of work that is executed once. */
export interface OnceOutcome<T> {
  readonly value: T;
  /** Another did the work, or an earlier call: `value` is what JSON made of it. */
  readonly replayed: boolean;
}

/**
 * Work that is executed once for a key: an idempotency key. Queues, webhooks and people send everything twice; the first that comes does the
 * work, and what it comes to is kept. Made by {@link Client.once}.
 *
 * Whoever comes later gets the result in one request, and does nothing; whoever comes meanwhile waits, and gets it too. The first needs two
 * requests. Work that fails keeps nothing, and that of a holder that died is done by the next, once its `ttl` is over.
 *
 * Executed once is what is *kept* once: of two that do the work, since the first was taken for dead, one stores its result at most, and
 * the other is told that it lost its lease. What the work does elsewhere must stand that: by the lease's `exec`, or by its `fence`.
 */
export class Once {
  /** The key that was asked for. */
  readonly key: string;
  /** The lock's key in Redis: what errors call it. */
  readonly #lock: string;
  readonly #raw: Revivable<RawOnce>;
  readonly #options: OnceOptions;
  readonly #host: Host;

  private constructor(key: string, lock: string, raw: Revivable<RawOnce>, options: OnceOptions, host: Host) {
    this.key = key;
    this.#lock = lock;
    this.#raw = raw;
    this.#options = options;
    this.#host = host;
  }

  /** @internal */
  static of(key: string, lock: string, raw: Revivable<RawOnce>, options: OnceOptions, host: Host): Once {
    return new Once(key, lock, raw, options, host);
  }

  /**
   * Does `work` unless it was done before, under a lease that is kept as by {@link Lock.run}; what it comes to is kept as JSON. What the
   * work throws is thrown, and nothing is kept.
   *
   * Where the work was done and nothing is kept, that is an error: a {@link ResultError}, `released` if the work gave the lease back
   * itself, `lost` if another may have done it meanwhile. Where the error `isOutcomeUnknown`, it may be kept: ask again.
   */
  async run<T>(work: (lease: Lease) => T | PromiseLike<T>, options: CallOptions = {}): Promise<OnceOutcome<T>> {
    const signal = signalOf(options, "a call");
    const { instance, value: once } = this.#raw.get();
    const begun = await instance.drive(() => once.begin(), this.#host, [this.#options.signal, signal], this.#lock);
    if (typeof begun === "string") return { value: this.#read(begun) as T, replayed: true };
    const lease = Lease.of(this.key, this.#lock, instance, begun, this.#host);
    const execute = async () => {
      const value = await work(lease);
      const text = this.#write(value);
      await lease.store((raw) => once.store(raw, text));
      return { value, replayed: false };
    };
    return lease.run(execute, { maxHold: this.#options.maxHold, signal });
  }

  /** Work may come to nothing, for which JSON has no word. */
  #write(value: unknown): string {
    try {
      return JSON.stringify(value) ?? "";
    } catch (error) {
      throw resultUnreadable(this.#lock, "it is no JSON", error);
    }
  }

  #read(text: string): unknown {
    if (text === "") return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      throw resultUnreadable(this.#lock, "what is kept is no JSON", error);
    }
  }
}
