// Work that is executed once for a key, whose result is kept; and copies, which are made anew.
import { type CallOptions, type Signals, signalOf } from "./abort.js";
import { work as checkWork } from "./check.js";
import { heeded, inBackground } from "./going-on.js";
import { ResultError, TimedOutError, UnavailableError } from "./errors.js";
import { resultTooLarge, resultUnreadable } from "./make-error.js";
import { callOf, type Named } from "./instance.js";
import { Lease } from "./lease.js";
import type { LockOptions } from "./lock-options.js";
import { words } from "./words.js";

/** How work is executed once. Durations are milliseconds. */
export interface OnceOptions extends Pick<LockOptions, "maxHold" | "maxRequests" | "signal"> {
  /** How long the result is kept: 1 ms to 366 days, in whole milliseconds. Default 24 hours. */
  readonly keep?: number | undefined;
  /**
   * A digest of the payload, of 1 to 128 bytes. Another request that has the same key by mistake
   * has another digest, and fails with `fingerprint_mismatch`. Calls without one are not compared.
   * Others can read it as the holder's label, so put no secret in it.
   */
  readonly fingerprint?: string | undefined;
  /** How large a result may be as JSON, in bytes of UTF-8: 262,144 at most. Default 65,536. */
  readonly maxBytes?: number | undefined;
  /**
   * How long the others wait if the process that does the work dies. Default 10,000. The lease is
   * renewed for work that takes longer.
   */
  readonly ttl?: number | undefined;
  /**
   * How long to wait while another call does the work, until a {@link HeldError} says when to come
   * back. Default 5,000.
   */
  readonly wait?: number | undefined;
  /**
   * What to do if the bridge or its Redis is away for all of `wait`, or does not answer in time.
   * `"fail"`, the default: throw that error. `"run"`: do the work without a lease, so that another
   * call may do it too; and return a result that could not be stored. Then choose a short `wait`:
   * each call waits that long before its work.
   */
  readonly ifUnavailable?: "fail" | "run" | undefined;
}

const DEFAULT_BYTES = 64 * 1024;
/** No `maxBytes` may be larger. */
export const MOST_BYTES = 256 * 1024;

/** What came of work that is executed once. */
export interface OnceOutcome<T> {
  readonly value: T;
  /** Whether another call did the work. Then `value` is what JSON made of it. */
  readonly replayed: boolean;
  /**
   * With `ifUnavailable: "run"`: why the result is not, or not surely, kept. A repeat may do the
   * work.
   */
  readonly notKept?: UnavailableError | TimedOutError;
}

/**
 * Work that is executed once for an idempotency key. Made by {@link Client.once}.
 *
 * Queues, webhooks and people send everything twice. The first call does the work, in two requests,
 * and its result is kept. A later call gets the result, in one. A call that comes while the work
 * runs waits, and gets the result too. Work that fails keeps nothing. If the process that does the
 * work dies, the next call does it, once the `ttl` is over.
 *
 * Executed once means *kept* once. A holder that was taken for dead may have done the work too. At
 * most one of the two stores its result, and the other learns that it lost its lease. What the work
 * does elsewhere must allow for that: use the lease's `exec`, or its `fence`.
 */
export class Once<L extends Lease | undefined = Lease> {
  /** The key that was asked for. */
  readonly key: string;
  readonly #made: Named;
  readonly #options: OnceOptions;

  private constructor(made: Named, options: OnceOptions) {
    this.key = made.name;
    this.#made = made;
    this.#options = options;
  }

  /** @internal */
  static of<L extends Lease | undefined>(made: Named, options: OnceOptions): Once<L> {
    return new Once(made, options);
  }

  /**
   * Does `work`, unless it was done before, and returns its result. The lease is renewed while the
   * work runs, as by {@link Lock.run}. The result is kept as JSON. What JSON would lose is refused:
   * functions, `NaN`, bytes, and objects that become `{}`, such as a `Map` or a `Response`. A
   * `Date` becomes a string. If the work throws, its error is thrown, and nothing is kept.
   *
   * If the work was done and its result is not kept, that is an error: a {@link ResultError},
   * `released` if the work itself released the lease, `lost` if another may have done it meanwhile.
   * No error has the result: if you need it, let the work leave it in a variable. If the outcome is
   * unknown, the result may be kept: call again.
   *
   * With `ifUnavailable: "run"` the work gets no lease if Redis is away, and nothing stops it.
   */
  run<T>(work: (lease: L) => T | PromiseLike<T>, options: CallOptions = {}): Promise<OnceOutcome<T>> {
    return inBackground(this.#run(work as (lease: Lease | undefined) => T | PromiseLike<T>, options), this.#made.host);
  }

  async #run<T>(work: (lease: Lease | undefined) => T | PromiseLike<T>, options: CallOptions): Promise<OnceOutcome<T>> {
    checkWork(work);
    const signal = signalOf(options);
    const { key, raw, host } = this.#made;
    const { instance, value: once } = raw.get();
    const signals = [this.#options.signal, heeded(host), signal];
    const begun = await this.#orNotKept(() => instance.drive(once, ["begin"], host, signals, key), signals);
    if ("notKept" in begun) return host.goingOn.during(async () => ({ value: await work(undefined), replayed: false, ...begun }));
    if (begun.lease === undefined) return { value: this.#read(begun.value as string) as T, replayed: true };
    // Whoever repeats the call gets what comes of it, so it goes on when its caller is gone.
    const lease = Lease.of(this.key, key, instance, begun.lease, { ...host, signal: undefined });
    let done: OnceOutcome<T> | undefined;
    let hasWorked = false;
    const execute = async () => {
      const value = await work(lease);
      hasWorked = true;
      const text = this.#write(value);
      const stored = await this.#orNotKept(() => lease.store((thing) => thing.makeWith(once, words(text))));
      return (done = { value, replayed: false, ...stored });
    };
    try {
      return await host.goingOn.during(() => lease.run(execute, { maxHold: this.#options.maxHold, signal }));
    } catch (error) {
      // Nor could the lease be given back.
      if (done?.notKept) return done;
      // What is stale is better than nothing. A result that the work could not keep is of another
      // key.
      const [copy] = begun.replies;
      const isTooMuch = hasWorked && error instanceof ResultError;
      if (typeof copy !== "string" || isTooMuch || isAborted(signals)) throw error;
      return { value: this.#read(copy.slice(copy.indexOf(" ") + 1)) as T, replayed: true };
    }
  }

  /** What `call` comes to, or why it came to nothing if the work is to go on nevertheless. */
  async #orNotKept<C>(call: () => Promise<C>, signals: Signals = []): Promise<C | Pick<Required<OnceOutcome<unknown>>, "notKept">> {
    try {
      return await call();
    } catch (error) {
      const isAway = error instanceof UnavailableError || error instanceof TimedOutError;
      // An aborted call can fail so, too.
      if (!isAway || this.#options.ifUnavailable !== "run" || isAborted(signals)) throw error;
      return { notKept: error };
    }
  }

  /**
   * Forgets what is kept, of whichever fingerprint, so that the next call does the work again, in
   * one request. Returns whether a result was kept. While the work runs, this throws a
   * {@link HeldError}, which says when to come back. If the outcome is unknown, call again: that
   * returns `false` if the result was forgotten.
   */
  async forget(options: CallOptions = {}): Promise<boolean> {
    return (await callOf(this.#made, "forget", options)).value as boolean;
  }

  /** Work may come to nothing, for which JSON has no word. */
  #write(value: unknown): string {
    let lost: string | undefined;
    const keep = function (this: Readonly<Record<string, unknown>>, name: string, part: unknown) {
      lost ??= spoilt(this[name]) ?? lossy(part);
      return part;
    };
    let text, cause;
    try {
      text = JSON.stringify(value, keep) ?? "";
    } catch (error) {
      cause = error;
    }
    if (lost !== undefined) throw this.unreadable(`the work was done, but JSON would lose ${lost} in it, so it is not kept`);
    if (text === undefined) throw this.unreadable("the work was done, but it cannot be written as JSON, so it is not kept", cause);
    // The module says so of what is shorter. It might not hold what is longer than it ever keeps.
    if (text.length > MOST_BYTES) throw resultTooLarge(this.#made.key, new TextEncoder().encode(text).length, this.#options.maxBytes ?? DEFAULT_BYTES);
    return text;
  }

  #read(text: string): unknown {
    if (text === "") return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      throw this.unreadable("what is kept is no JSON, so another program stored it", error);
    }
  }

  /** @internal */
  unreadable(why: string, cause?: unknown): ResultError {
    return resultUnreadable(this.#made.key, why, cause);
  }
}

/** How long a copy is used. Durations are milliseconds. */
export interface CachedOptions extends Pick<OnceOptions, "ttl" | "wait" | "maxBytes" | "maxHold" | "maxRequests" | "signal" | "ifUnavailable"> {
  /** For how long all get the copy: 1 ms to 366 days, in whole milliseconds. */
  readonly fresh: number;
  /**
   * For how long after that one call makes it anew while the others get the copy: 1 ms to 366 days.
   * So is the sum of both.
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
   * If `refill` fails, a stale copy is returned if there is one: let `refill` report its error. A
   * result that cannot be kept is an error, though. If Redis is away for all of `wait`, each call
   * refills for itself; with `ifUnavailable: "fail"` the error is thrown.
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

const isAborted = (signals: Signals): boolean => signals.some((signal) => signal?.aborted);

/** The same of what says itself what JSON has in its place: a Buffer is bytes. */
function spoilt(part: unknown): string | undefined {
  if (ArrayBuffer.isView(part)) return `a ${kindOf(part)}`;
  return kindOf(part) === "Date" && JSON.stringify(part) === "null" ? "an invalid Date" : undefined;
}

/** Not by `instanceof`: it may be of another realm. */
const kindOf = (part: unknown): string => Object.prototype.toString.call(part).slice(8, -1);

/**
 * What JSON would make something else of: `{}` of most objects of a host's, `null` of some numbers,
 * nothing of a function. That nothing is missing in an object, or `null` in an array, is no loss.
 */
function lossy(part: unknown): string | undefined {
  if (typeof part === "function" || typeof part === "symbol") return `a ${typeof part}`;
  if (typeof part === "number" && !Number.isFinite(part)) return String(part);
  if (typeof part !== "object" || part === null || Array.isArray(part)) return undefined;
  // JSON takes a boxed value for the value.
  const kind = kindOf(part);
  if (/^(Number|String|Boolean|BigInt)$/.test(kind)) return undefined;
  if (kind !== "Object") return `a ${kind}`;
  const prototype = Object.getPrototypeOf(part);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain || Object.keys(part).length > 0 ? undefined : "an object without properties of its own";
}
