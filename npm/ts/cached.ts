// A copy of something that is dear to make, renewed by one caller at a time.
import type { CallOptions } from "./abort.js";
import { work as checkWork } from "./check.js";
import type { Lease } from "./lease.js";
import type { Once, OnceOptions } from "./once.js";

/** How long a copy is used. Durations are milliseconds. */
export interface CachedOptions extends Pick<OnceOptions, "ttl" | "wait" | "maxBytes" | "maxHold" | "maxRequests" | "signal" | "ifUnavailable"> {
  /** For how long all get the copy: 1 ms to 366 days, in whole milliseconds. */
  readonly fresh: number;
  /**
   * For how long after that all others get the copy while one makes it anew: 1 ms to 366 days, in
   * whole milliseconds. The sum has the same bound.
   */
  readonly stale: number;
}

/**
 * A copy of something that is expensive to make. Made by {@link Client.cached}.
 *
 * While the copy is fresh, all get it, in one request. Once it is stale, one caller makes it anew,
 * in two requests, and all others get the stale copy meanwhile, in one. If there is none, one
 * caller makes it, and the others wait for it, as for work that is executed {@link Once}.
 */
export class Cached {
  /** The key that was asked for. */
  readonly key: string;
  readonly #once: Once<Lease | undefined>;

  private constructor(once: Once<Lease | undefined>) {
    this.key = once.key;
    this.#once = once;
  }

  /** @internal */
  static of(once: Once<Lease | undefined>): Cached {
    return new Cached(once);
  }

  /**
   * The copy, or what `refill` makes, which is kept as JSON, as by {@link Once.run}.
   *
   * If `refill` fails, a stale copy is returned if there is one: let `refill` report its error. The
   * next call tries again. A result that cannot be kept is an error, though. If Redis is away for
   * all of `wait`, each call refills for itself; with `ifUnavailable: "fail"` the error is thrown.
   */
  async get<T>(refill: () => T | PromiseLike<T>, options: CallOptions = {}): Promise<T> {
    checkWork(refill);
    return (await this.#once.run(() => refill(), options)).value;
  }

  /** Forgets the copy, as {@link Once.forget}: the next call makes a new one. */
  forget(options: CallOptions = {}): Promise<boolean> {
    return this.#once.forget(options);
  }
}
