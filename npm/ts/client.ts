// Where the bridge is, and how to reach it.
import type { Signals } from "./abort.js";
import { abortSignal, duration, given, milliseconds, type Names, optionalText, options as known, several, text } from "./check.js";
import { Cached, type CachedOptions, Once, type OnceOptions } from "./once.js";
import type { ClientOptions, ClientSettings, ReadOptions } from "./client-options.js";
import { type Command, toRaw } from "./command.js";
import { clientConfig, type Kind, knownSettings, limitConfig, lockConfig, onceConfig } from "./config.js";
import { Debounce, type DebounceOptions, Throttle } from "./paced.js";
import { GoingOn, inBackground } from "./going-on.js";
import { environment, lookUp } from "./environment.js";
import { hear } from "./event.js";
import { instance, type Named, Revivable } from "./instance.js";
import type { Lease } from "./lease.js";
import { Lock, type Maker } from "./lock.js";
import type { Limit, LimitsOptions, LockAllOptions, LockOptions, ReentrantOptions, ReservationOptions, SemaphoreOptions } from "./lock-options.js";
import { invalidArgument } from "./make-error.js";
import type { RawCommands, Reply } from "./raw.js";
import { ReadWrite } from "./read-write.js";
import { type Value, words } from "./words.js";

const OF_A_DEBOUNCE: Names<DebounceOptions> = { maxWait: 1 };
const OF_A_COPY: Names<CachedOptions> = { fresh: 1, stale: 1, ttl: 1, wait: 1, maxBytes: 1, maxHold: 1, maxRequests: 1, signal: 1, ifUnavailable: 1 };
const OF_A_READ: Names<ReadOptions> = { shardOf: 1, signal: 1 };

/** The settings of a client whose bridge nobody has named yet. */
class Late {
  constructor(readonly settings: ClientSettings) {}
}

/**
 * Makes locks that live behind one bridge, or behind several. Making a client, or what it makes,
 * sends nothing. So make it at module level, or anew in each handler.
 */
export class Client {
  readonly #raw: Revivable;
  readonly #prefix: string;
  readonly #maker: Maker;
  /** Its bridge is looked up when it is first used, and what is made of it before then, too. */
  readonly #isLate: boolean;

  constructor(options: ClientOptions) {
    this.#isLate = options instanceof Late;
    const config = options instanceof Late ? undefined : clientConfig(options);
    // Its own: whoever changes the object later makes no other client of this one.
    const settings: ClientSettings = options instanceof Late ? options.settings : config!.options;
    const { fetch, waitUntil, signal, requestTimeout = 2_000, onEvent, prefix = "" } = settings;
    this.#maker = {
      fetch,
      waitUntil,
      signal,
      requestTimeout,
      goingOn: new GoingOn(),
      tell: (event) => onEvent && hear(event, onEvent),
      readEach: async (reads, name) => this.#read(toRaw(reads), name, true),
    };
    this.#prefix = prefix;
    this.#raw = new Revivable(() => {
      const { said, onEvent } = config ?? clientConfig({ ...settings, ...lookUp(environment()) });
      const module = instance();
      const make = () => new module.raw.Thing(said, onEvent);
      // A client learns by its own `fetch` what the bridge can do.
      return onEvent ? make() : module.kept(fetch ?? module, said, make);
    }, !this.#isLate);
  }

  /** Something that the module makes of this client. */
  #made(values: readonly Value[], isKept = true): Revivable {
    const said = words(...values);
    return new Revivable(() => {
      const { instance, value: client } = this.#raw.get();
      const make = () => client.make(said)!;
      return isKept ? instance.kept(client, said, make) : make();
    }, !this.#isLate);
  }

  #named(kind: string, name: string, ...values: Value[]): Named {
    return { name, key: this.#prefix + name, raw: this.#made([kind, name, ...values]), host: this.#maker };
  }

  /**
   * A client of the bridge that the environment names: a Worker's `env`, `process.env`, `Deno.env`.
   * Default: the environment of the process. If that names no bridge yet, as while a framework
   * builds, the client looks again at its first call, which throws if a variable is still missing.
   *
   * It looks for `EDGELOCK_BRIDGE_URL` and `EDGELOCK_BRIDGE_CREDENTIAL`, then for Upstash's
   * `UPSTASH_REDIS_REST_URL` and `…_TOKEN`, then for Vercel's `KV_REST_API_URL` and `…_TOKEN`.
   */
  static fromEnv(env?: object, settings: ClientSettings = {}): Client {
    if (env !== undefined && (typeof env !== "object" || env === null)) throw invalidArgument("an environment is an object");
    const own = knownSettings(settings);
    let bridge;
    try {
      bridge = lookUp(env ?? environment());
    } catch (error) {
      if (env !== undefined) throw error;
    }
    return new this(bridge ? { ...own, ...bridge } : (new Late(own) as never));
  }

  /**
   * The lock called `name`: 1 to 512 bytes, prefix included. The lock is the Redis key of that
   * name. Throws `InvalidArgumentError` if the name or an option is wrong. A client whose bridge is
   * looked up at its first call tells some of that then.
   */
  lock(name: string, options: LockOptions = {}): Lock {
    return this.#lock("a lock", ["lock", text(name, "a lock's name")], options, true);
  }

  /**
   * The lock called `name`, which its `owner` may take again: any handler that passes the same
   * `owner`, so use an id that cannot be guessed. It is free once it was released as often as it
   * was taken. It is stored as Redisson stores its `RLock`.
   */
  reentrant(name: string, owner: string, options: ReentrantOptions = {}): Lock {
    return this.#lock("a reentrant lock", ["reentrant", text(name, "a lock's name"), text(owner, "an owner")], options);
  }

  /**
   * A semaphore called `name`: up to `permits` holders may have it at once, each with a token, a
   * ttl, a fence and a deadline of its own. All else is as with a lock.
   *
   * `permits` counts only for this `Lock`. A caller that passes a lower number than others waits
   * until fewer permits than that are held. A semaphore is stored differently from a lock: each
   * refuses the other's key with the code `wrong_type`.
   */
  semaphore(name: string, permits: number, options: SemaphoreOptions = {}): Lock {
    return this.#lock("a semaphore", ["semaphore", text(name, "a semaphore's name"), several(permits, "permits")], options);
  }

  /**
   * So many `units` of something that is sold in two steps: reserved, and then confirmed, never
   * twice.
   *
   * - Acquiring the lock reserves one unit, or `weight` units, for the `ttl`: 10 minutes by
   *   default. {@link Lease.handOver} and {@link Lock.resume} carry that from one request to the
   *   next.
   * - {@link Lease.commit} confirms: its commands run, and the units are taken for ever, in one
   *   script, unless the reservation has ended by Redis's clock. Then the commit fails with `lost`.
   * - {@link Lease.release} gives the units back. So does the ttl.
   *
   * While too few units are free, an acquisition fails with `held`, at once by default. A
   * {@link ReservationError} says that all is sold, that the `owner` has enough, or, for a day,
   * that the reservation was confirmed before.
   *
   * The key `{name}:confirmed` counts the confirmed units, and never expires. Lower it with Redis
   * if something comes back, and delete it after the sale. `forceRelease` leaves it. No
   * {@link Client.semaphore | semaphore} may have the same name: the bounds of owners would be
   * wrong.
   */
  reservations(name: string, units: number, options: ReservationOptions = {}): Lock {
    return this.#lock("a reservation", ["reservations", text(name, "a name of reservations"), several(units, "units")], options);
  }

  /**
   * A lock called `name` that many can have to read, or one to write: two locks, each with
   * everything that locks have. The writer holds the {@link Client.lock} of that name.
   */
  readWrite(name: string): ReadWrite {
    text(name, "a lock's name");
    return ReadWrite.of((reads, options) => this.#lock("a read/write lock", [reads ? "reader" : "writer", name], options, !reads));
  }

  /**
   * Several names at once, 1 to 32, all or none: a cart with several articles, a transfer between
   * two accounts. Callers never deadlock, whatever the order of their names. On a Redis Cluster,
   * and with `shards`, all names need one hash tag: `{cart:7}:a`, `{cart:7}:b`.
   *
   * Each name is the {@link Client.lock} of that name. The lease has one token, one ttl and one
   * fence. If one name is lost, all are, and the others are given back.
   *
   * A waiter holds none of the names, and asks for all again when one became free. It is fair by
   * default: a name is left free while the first in its queue waits for another name. `fair: false`
   * raises throughput, but under a steady load the names may never be free at the same time.
   */
  lockAll(names: readonly string[], options: LockAllOptions = {}): Lock {
    if (!Array.isArray(names)) throw invalidArgument(`names are an array of strings, not ${given(names)}`);
    const all = Array.from(names, (name) => text(name, "a lock's name"));
    return this.#lock("a lock of several names", ["several", all], options);
  }

  /**
   * Several limits in one lease: permits of 1 to 32 {@link Client.semaphore | semaphores}, all or
   * none, as one for each tenant and twenty in all. On a Redis Cluster, and with `shards`, all
   * names need one hash tag.
   *
   * Each name is the semaphore of that name, whose holders count, too. The lease has one token, one
   * ttl and one fence. If one permit is lost, all are, and the others are given back. `resume`
   * wants the same names: with more, the lease is lost.
   *
   * A waiter holds no permits, so callers never deadlock. It queues for the name that refused it.
   * When that has room, a release tells the oldest such waiter to ask for all names again.
   * Newcomers may take the room meanwhile, unless the waiter came over 2 s ago: then the room is
   * kept for a second. `inspect` says in `free` for how many more of these leases there is room.
   * `forceRelease` frees all permits of all names.
   */
  limits(limits: readonly Limit[], options: LimitsOptions = {}): Lock {
    if (!Array.isArray(limits)) throw invalidArgument(`limits are an array of { name, limit }, not ${given(limits)}`);
    const all = Array.from(limits, limitConfig);
    return this.#lock("a lock of several limits", ["limits", all], options);
  }

  /**
   * Work that is executed once for `key`, an idempotency key, and whose result is kept. Whoever
   * does the work holds the lock that is named by the key. So give no other lock that name: if the
   * work took that lock, it would wait for itself.
   */
  once(key: string, options: OnceOptions & { readonly ifUnavailable: "run" }): Once<Lease | undefined>;
  once(key: string, options?: OnceOptions & { readonly ifUnavailable?: "fail" | undefined }): Once;
  once(key: string, options: OnceOptions = {}): Once<Lease | undefined> {
    text(key, "a key");
    const { options: own, said } = onceConfig(options);
    return Once.of(this.#named("once", key, ...said), own);
  }

  /** A copy of something that is expensive to make. `key` is as in {@link Client.once}. */
  cached(key: string, options: CachedOptions): Cached {
    text(key, "a key");
    const { fresh, stale, ifUnavailable = "run", ...others } = known(options, OF_A_COPY, "a copy");
    const { options: once, said } = onceConfig({ ...others, ifUnavailable });
    return Cached.of(Once.of(this.#named("cached", key, duration(fresh, "fresh"), duration(stale, "stale"), ...said), once));
  }

  /**
   * Lets one call through in each `window` of 1 ms to 366 days, in whole milliseconds. A lock or a
   * debounce of the same name does not affect it.
   */
  throttle(name: string, window: number): Throttle {
    text(name, "a throttle's name");
    return Throttle.of(this.#named("throttle", name, duration(window, "window")));
  }

  /**
   * Lets through the last of several calls that come less than `wait` apart: 1 ms to 24 hours, in
   * whole milliseconds. A lock or a throttle of the same name does not affect it.
   */
  debounce(name: string, wait: number, options: DebounceOptions = {}): Debounce {
    text(name, "a debounce's name");
    const { maxWait } = known(options, OF_A_DEBOUNCE, "a debounce");
    return Debounce.of(this.#named("debounce", name, duration(wait, "wait"), milliseconds(maxWait, "maxWait")));
  }

  /**
   * Runs commands that only read, without a lock, in one request. The replies may be out of date
   * when they arrive.
   */
  async read(reads: readonly Command[], options: ReadOptions = {}): Promise<Reply[]> {
    const { shardOf, signal } = known(options, OF_A_READ, "a read");
    return inBackground(this.#read(toRaw(reads), optionalText(shardOf, "shardOf"), false, [abortSignal(signal, "signal")]), this.#maker);
  }

  /** If `each`, the reply to a read that failed is its error. */
  async #read(reads: RawCommands, shardOf: string | undefined, each: boolean, signals: Signals = []): Promise<Reply[]> {
    const { instance, value: client } = this.#raw.get();
    return (await instance.drive(client, ["read", shardOf, each, reads], this.#maker, signals)).replies;
  }

  /** What the module is told: which kind, of which name or names, and what else is of the kind. */
  #lock(kind: Kind, said: readonly [kind: string, of: string | readonly (string | readonly [name: string, ...Value[]])[], ...Value[]], options: LockOptions, hasTurns = false, isKept = true): Lock {
    const { options: own, said: asked } = lockConfig(options, kind);
    const again = (options: LockOptions) => this.#lock(kind, said, options, hasTurns, false);
    const raw = this.#made([...said, ...asked], isKept);
    const names = [said[1]].flat().map((of) => (typeof of === "string" ? of : of[0]));
    // In the order in which errors of the module show them.
    const keys = names.map((name) => this.#prefix + name).sort();
    return Lock.of({ name: names.join(", "), key: keys.join(", "), livesWith: names[0] ?? "", hasTurns: hasTurns && !own.takeOver, again, raw, maker: this.#maker }, own);
  }
}
