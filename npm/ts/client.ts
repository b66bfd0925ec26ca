// Where the bridge is, and how to reach it.
import type { CallOptions } from "./abort.js";
import { abortSignal, callable, count, duration, flag, given, milliseconds, type Names, options as known, text, timeout } from "./check.js";
import { type Command, toRaw } from "./command.js";
import { Debounce, type DebounceOptions } from "./debounce.js";
import { invalidArgument } from "./errors.js";
import { environment, lookUp } from "./environment.js";
import { type LockEvent, toEvent } from "./event.js";
import { instance, Revivable } from "./instance.js";
import { Lock, type LockAllOptions, type LockOptions, type Maker, type ReadWriteOptions, type ReentrantOptions, type SemaphoreOptions } from "./lock.js";
import { Once, type OnceOptions } from "./once.js";
import type { RawClient, RawLockConfig, RawBridgeConfig, RawSettings, Reply } from "./raw.js";
import { Throttle } from "./throttle.js";

/** What a `fetch` of the caller's own is called with. */
export interface FetchInit {
  readonly method: "POST";
  readonly redirect: "manual";
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** What edgelock reads of its response. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: unknown;
  text(): Promise<string>;
}

/**
 * The settings of a client that have a default. Durations are milliseconds. A limit of `Infinity`
 * means none.
 */
export interface ClientSettings {
  /** Put before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`. */
  readonly prefix?: string | undefined;
  /**
   * How long a request may wait for its reply; more than 0. Default 2,000.
   *
   * It also bounds how long a call that does not wait for the lock obeys a bridge's `Retry-After`,
   * all pauses together.
   */
  readonly requestTimeout?: number | undefined;
  /**
   * How often an operation is sent if its requests get lost. Default 3; 0 counts as 1. Sending
   * again is safe.
   */
  readonly maxAttempts?: number | undefined;
  /**
   * Whether waiters listen for their turn. By default they do with Upstash's own hosts, with
   * webdis, and with a bridge that says that it pushes, as edgelock-bridge does. With other bridges
   * they poll, since a subscription can make such a bridge unusable for all its clients.
   */
  readonly push?: boolean | undefined;
  /**
   * Whether scripts are sent as `EVALSHA`, and as `EVAL` only if Redis does not know them. Default
   * off.
   */
  readonly scriptCache?: boolean | undefined;
  /**
   * Whether Upstash locks only the keys of a script. Default on for its own hosts, off for all
   * others.
   */
  readonly keyLocking?: boolean | undefined;
  /**
   * Allows plain `http:` to other hosts than this machine. An eavesdropper there learns the
   * credential.
   */
  readonly plainHttp?: boolean | undefined;
  /** Sends the requests in place of the host's `fetch`: for a service binding, or in a test. */
  readonly fetch?: ((url: string, init: FetchInit) => Promise<FetchResponse>) | undefined;
  /**
   * Gets the clean-up that goes on after the response, so that the host lets it finish. In a
   * Worker: `(promise) => context.waitUntil(promise)`.
   */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /**
   * Gets everything that happens to the locks of this client, for logs and metrics. It gets no
   * tokens.
   */
  readonly onEvent?: ((event: LockEvent) => void) | undefined;
}

/** A bridge that speaks Upstash's dialect. */
export interface UpstashOptions {
  /** Its address: `https:`, or `http:` on the local machine. */
  readonly url: string;
  /** Its credential. */
  readonly credential: string;
  readonly webdis?: undefined;
}

/** A webdis. */
export interface WebdisOptions {
  /** Its address: `https:`, or `http:` on the local machine. */
  readonly url: string;
  /**
   * A user whom its `acl` allows `EVAL`, and `SUBSCRIBE` if waiters are to listen. A webdis that
   * allows everything to everybody accepts any user.
   */
  readonly webdis: { readonly user: string; readonly password: string };
  readonly credential?: undefined;
}

/** One bridge. */
export type BridgeOptions = UpstashOptions | WebdisOptions;

/**
 * Several bridges, each with a Redis of its own; the servers know nothing of each other. Redlock.
 */
export interface QuorumOptions {
  /**
   * A lock is held once a majority granted it, and stays held while a minority fails. Each
   * operation costs one request to each bridge, an acquisition two. `reentrant`, `semaphore`,
   * `fair` and commands are refused: the data is elsewhere, and the fence protects it there.
   */
  readonly quorum: readonly BridgeOptions[];
  /**
   * For how long a Redis that was started has no say, since it may have lost the locks that it knew
   * of. Default, and minimum: the ttl of the lock. If names are locked for different ttls, set the
   * longest.
   *
   * Fences grow across servers that came back empty as long as the servers' clocks differ by less
   * than this.
   */
  readonly restartQuarantine?: number | undefined;
}

/** Several bridges over which locks are spread by their names. */
export interface ShardOptions {
  /**
   * The bridges by their ids, which decide which names live behind which bridge. Names with the
   * same hash tag live behind the same one. All clients must have the same ids. A new bridge gets
   * its share of all names, and no other name moves.
   */
  readonly shards: Readonly<Record<string, BridgeOptions>>;
}

/** Options of a read without a lock. */
export interface ReadOptions extends CallOptions {
  /**
   * With `shards`: the name of a lock. The read goes to the bridge behind which that lock lives.
   */
  readonly shardOf?: string | undefined;
}

/** A client's settings, and its bridge or bridges. */
export type ClientOptions = ClientSettings & (BridgeOptions | QuorumOptions | ShardOptions);

/**
 * Makes locks that live behind one bridge, or behind several.
 *
 * Making one sends nothing and needs nothing of the host. So make it at module level, or anew in
 * each handler.
 */
export class Client {
  readonly #raw: Revivable<RawClient>;
  readonly #prefix: string;
  readonly #settings: ClientSettings;

  constructor(options: ClientOptions) {
    if (typeof options !== "object" || options === null) throw invalidArgument(`a client is made of { url, credential }, not of ${given(options)}`);
    known(options, "quorum" in options ? OF_A_QUORUM : "shards" in options ? OF_SHARDS : OF_A_BRIDGE, "a client");
    const roads = toRoads(options);
    const settings = { ...toSettings(options), quarantineMs: "quorum" in options ? milliseconds(options.restartQuarantine, "restartQuarantine") : undefined };
    this.#prefix = settings.prefix ?? "";
    this.#settings = options;
    this.#raw = new Revivable(() => new (instance().raw.Client)(roads, "quorum" in options, settings));
  }

  /**
   * A client of the bridge that the environment names: a Worker's `env`, `process.env`, `Deno.env`.
   * Default: the environment of the process.
   *
   * It looks for `EDGELOCK_BRIDGE_URL` and `EDGELOCK_BRIDGE_CREDENTIAL`, then for Upstash's
   * `UPSTASH_REDIS_REST_URL` and `…_TOKEN`, then for Vercel's `KV_REST_API_URL` and `…_TOKEN`.
   */
  static fromEnv(env: object = environment(), settings: ClientSettings = {}): Client {
    if (typeof env !== "object" || env === null) throw invalidArgument("an environment is an object");
    return new this({ ...known(settings, SETTINGS, "a client"), ...lookUp(env) });
  }

  /**
   * The lock called `name`: 1 to 512 bytes, prefix included. The lock is the Redis key of that
   * name. Sends nothing.
   */
  lock(name: string, options: LockOptions = {}): Lock {
    text(name, "a lock's name");
    const { ttl, patience } = checked(options, OF_A_LOCK, "a lock");
    const raw = new Revivable(() => this.#raw.get().value.lock(name, ttl, patience));
    return Lock.of(name, this.#prefix + name, raw, options, this.#maker(name, (options) => this.lock(name, options)));
  }

  /**
   * The lock called `name`, which `owner` may take again while it has it. Any handler that passes
   * the same `owner` may, so use an id that cannot be guessed. The lock is free once it was
   * released as often as it was taken. It is stored as Redisson stores its `RLock`. Sends nothing.
   */
  reentrant(name: string, owner: string, options: ReentrantOptions = {}): Lock {
    text(name, "a lock's name");
    text(owner, "an owner");
    const { ttl, patience } = checked(options, OF_A_REENTRANT, "a reentrant lock");
    const raw = new Revivable(() => this.#raw.get().value.reentrant(name, owner, ttl, patience));
    return Lock.of(name, this.#prefix + name, raw, options, this.#maker(name, (options) => this.reentrant(name, owner, options)));
  }

  /**
   * A semaphore called `name`: up to `permits` holders may have it at once. Each has a token, a
   * ttl, a fence and a deadline of its own. All else is as with a lock. Sends nothing.
   *
   * `permits` counts only for the acquisitions of this `Lock`. A caller that passes a lower number
   * than others takes no permit from them: it waits until fewer than its number are held. `inspect`
   * lists the holders. A semaphore is stored differently from a lock: each refuses the other's key
   * with a `WrongTypeError`.
   */
  semaphore(name: string, permits: number, options: SemaphoreOptions = {}): Lock {
    text(name, "a semaphore's name");
    if (!(Number.isInteger(permits) && permits >= 1 && permits <= 0xffff_ffff)) throw invalidArgument(`permits are a whole number, 1 or more, not ${given(permits)}`);
    const { ttl, patience } = checked(options, OF_A_SEMAPHORE, "a semaphore");
    const raw = new Revivable(() => this.#raw.get().value.semaphore(name, permits, ttl, patience));
    const maker = this.#maker(name, (options) => this.semaphore(name, permits, options));
    return Lock.of(name, this.#prefix + name, raw, options, { ...maker, hasTurns: false });
  }

  /**
   * A lock called `name` that many can have to read, or one to write: two locks, each with
   * everything that locks have. The writer is the holder of the {@link Client.lock} of that name.
   * Sends nothing.
   */
  readWrite(name: string): ReadWrite {
    text(name, "a lock's name");
    return ReadWrite.of((reads, options) => this.#readWrite(name, reads, options));
  }

  #readWrite(name: string, reads: boolean, options: ReadWriteOptions): Lock {
    const { ttl, patience } = checked(options, OF_A_READ_WRITE, "a read/write lock");
    const raw = new Revivable(() => this.#raw.get().value.readWrite(name, reads, ttl, patience));
    const maker = this.#maker(name, (options) => this.#readWrite(name, reads, options));
    return Lock.of(name, this.#prefix + name, raw, options, { ...maker, hasTurns: !reads });
  }

  /**
   * Several names at once, 1 to 32: the lease has all of them, or there is none. For work that
   * needs several locks: a cart with several articles, a transfer between two accounts. Callers
   * never deadlock, whatever the order of their names. Sends nothing.
   *
   * Each name is the {@link Client.lock} of that name. The lease has one token, one ttl and one
   * fence. If one name is lost, the whole lease is, and the other names are given back. A
   * {@link HeldError} says in `lock` which name is held.
   *
   * A waiter holds none of the names. It asks for all of them again when it is told that one became
   * free. It is fair by default: it gets its turn in order of arrival among fair callers, and a
   * name is left free while the first in its queue waits for another name. `fair: false` raises
   * throughput, but under a steady load the names may never be free at the same time.
   *
   * On a Redis Cluster, and with `shards`, all names need one hash tag: `{cart:7}:a`, `{cart:7}:b`.
   */
  lockAll(names: readonly string[], options: LockAllOptions = {}): Lock {
    if (!Array.isArray(names)) throw invalidArgument(`names are an array of strings, not ${given(names)}`);
    const all = Array.from(names, (name) => text(name, "a lock's name"));
    const { ttl, patience } = checked(options, OF_SEVERAL_NAMES, "a lock of several names");
    const raw = new Revivable(() => this.#raw.get().value.lockAll(all, ttl, patience));
    const maker = this.#maker(all[0] ?? "", (options) => this.lockAll(all, options));
    // In the order in which errors of the module show them.
    const keys = all.map((name) => this.#prefix + name).sort();
    return Lock.of(all.join(", "), keys.join(", "), raw, options, { ...maker, hasTurns: false });
  }

  /**
   * Work that is executed once for `key`, an idempotency key, and whose result is kept. Sends
   * nothing.
   *
   * The key is the name of a lock, which whoever does the work holds. Give it a name of its own: a
   * lock of the same name, taken inside the work, would wait for the work.
   */
  once(key: string, options: OnceOptions = {}): Once {
    text(key, "a key");
    known(options, OF_ONCE, "what is executed once");
    milliseconds(options.maxHold, "maxHold");
    abortSignal(options.signal, "signal");
    const keeping = {
      keepMs: milliseconds(options.keep, "keep"),
      fingerprint: options.fingerprint === undefined ? undefined : text(options.fingerprint, "fingerprint"),
      maxBytes: count(options.maxBytes, "maxBytes"),
      ttlMs: milliseconds(options.ttl, "ttl"),
      waitMs: milliseconds(options.wait, "wait"),
      maxRequests: count(options.maxRequests, "maxRequests"),
    };
    const raw = new Revivable(() => this.#raw.get().value.once(key, keeping));
    return Once.of(key, this.#prefix + key, raw, options, this.#settings);
  }

  /**
   * Lets one call through in each `window` of 1 ms to 366 days, in whole milliseconds. Sends
   * nothing.
   *
   * It does not meet a lock or a debounce of the same name.
   */
  throttle(name: string, window: number): Throttle {
    text(name, "a throttle's name");
    const ms = duration(window, "window");
    const raw = new Revivable(() => this.#raw.get().value.throttle(name, ms));
    return Throttle.of(name, this.#prefix + name, raw, this.#settings);
  }

  /**
   * Lets the last of the calls through that come less than `wait` after each other: 1 ms to 24
   * hours, in whole milliseconds. Sends nothing.
   *
   * It does not meet a lock or a throttle of the same name.
   */
  debounce(name: string, wait: number, options: DebounceOptions = {}): Debounce {
    text(name, "a debounce's name");
    known(options, OF_A_DEBOUNCE, "a debounce");
    const [ms, maxWait] = [duration(wait, "wait"), milliseconds(options.maxWait, "maxWait")];
    const raw = new Revivable(() => this.#raw.get().value.debounce(name, ms, maxWait));
    return Debounce.of(name, this.#prefix + name, raw, this.#settings);
  }

  /**
   * Runs commands that only read, together and without a lock, in one request. The replies may be
   * out of date when they arrive.
   */
  async read(reads: readonly Command[], options: ReadOptions = {}): Promise<Reply[]> {
    const { shardOf, signal } = known(options, OF_A_READ, "a read");
    const commands = toRaw(reads);
    if (shardOf !== undefined) text(shardOf, "shardOf");
    const { instance, value: client } = this.#raw.get();
    return instance.drive(() => client.read(commands, shardOf), this.#settings, [abortSignal(signal, "signal")]);
  }

  #maker(name: string, again: (options: LockOptions) => Lock): Maker {
    const { requestTimeout = 2_000, fetch, waitUntil, onEvent } = this.#settings;
    return {
      hasTurns: true,
      requestTimeout,
      fetch,
      waitUntil,
      tell: (event) => onEvent && hear(event, onEvent),
      read: (reads) => this.read(reads, { shardOf: name }),
      again,
    };
  }
}

/** A name that one may have to write, or many to read. Made by {@link Client.readWrite}. */
export class ReadWrite {
  readonly #make: (reads: boolean, options: ReadWriteOptions) => Lock;

  private constructor(make: (reads: boolean, options: ReadWriteOptions) => Lock) {
    this.#make = make;
  }

  /** @internal */
  static of(make: (reads: boolean, options: ReadWriteOptions) => Lock): ReadWrite {
    return new ReadWrite(make);
  }

  /**
   * The lock to read under. Many can hold it at once, and no writer then. Each reader has a lease
   * of its own. A reader that comes while a writer waits, waits behind it, unless it says `fair:
   * false`. `inspect` lists the readers; `forceRelease` frees the name of all. It has no turns for
   * a `GroupCommit`.
   */
  read(options: ReadWriteOptions = {}): Lock {
    return this.#make(true, options);
  }

  /**
   * The lock to write under. One can hold it, and nobody else then. A release hands it to the next
   * writer, or to all readers up to the next writer at once. {@link Lease.downgrade} makes a reader
   * of a writer.
   */
  write(options: ReadWriteOptions = {}): Lock {
    return this.#make(false, options);
  }
}

const SETTINGS: Names<ClientSettings> = {
  prefix: 1,
  requestTimeout: 1,
  maxAttempts: 1,
  push: 1,
  scriptCache: 1,
  keyLocking: 1,
  plainHttp: 1,
  fetch: 1,
  waitUntil: 1,
  onEvent: 1,
};
const BRIDGE: Names<UpstashOptions & WebdisOptions> = { url: 1, credential: 1, webdis: 1 };
const WEBDIS: Names<WebdisOptions["webdis"]> = { user: 1, password: 1 };
const OF_A_BRIDGE: Names<ClientSettings & UpstashOptions & WebdisOptions> = { ...BRIDGE, ...SETTINGS };
const OF_A_QUORUM: Names<ClientSettings & QuorumOptions> = { quorum: 1, restartQuarantine: 1, ...SETTINGS };
const OF_SHARDS: Names<ClientSettings & ShardOptions> = { shards: 1, ...SETTINGS };
const OF_A_REENTRANT: Names<ReentrantOptions> = { ttl: 1, wait: 1, maxRequests: 1, maxHold: 1, waitForReplicas: 1, signal: 1 };
const OF_A_SEMAPHORE: Names<SemaphoreOptions> = { ...OF_A_REENTRANT, fair: 1, label: 1 };
const OF_A_READ_WRITE: Names<ReadWriteOptions> = OF_A_SEMAPHORE;
const OF_SEVERAL_NAMES: Names<LockAllOptions> = OF_A_SEMAPHORE;
const OF_A_LOCK: Names<LockOptions> = { ...OF_A_SEMAPHORE, signalList: 1 };
const OF_ONCE: Names<OnceOptions> = { keep: 1, fingerprint: 1, maxBytes: 1, ttl: 1, wait: 1, maxRequests: 1, maxHold: 1, signal: 1 };
const OF_A_DEBOUNCE: Names<DebounceOptions> = { maxWait: 1 };
const REPLICAS: Names<NonNullable<LockOptions["waitForReplicas"]>> = { count: 1, within: 1 };
const OF_A_READ: Names<ReadOptions> = { shardOf: 1, signal: 1 };

function toRoads(options: ClientOptions): RawBridgeConfig[] {
  if ("quorum" in options) {
    if (!Array.isArray(options.quorum)) throw invalidArgument("quorum is an array of bridges, each { url, credential }");
    return Array.from(options.quorum, toOneOfSeveral);
  }
  if ("shards" in options) {
    if (typeof options.shards !== "object" || options.shards === null) throw invalidArgument("shards is an object of bridges by their ids");
    return Object.entries(options.shards).map(([id, bridge]) => ({ id: text(id, "a shard's id"), ...toOneOfSeveral(bridge) }));
  }
  return [toRoad(options)];
}

function toOneOfSeveral(bridge: BridgeOptions): RawBridgeConfig {
  if (typeof bridge !== "object" || bridge === null) throw invalidArgument("a bridge is { url, credential }");
  return toRoad(known(bridge, BRIDGE, "a bridge"));
}

function toRoad(bridge: BridgeOptions): RawBridgeConfig {
  const { webdis } = bridge;
  const url = text(bridge.url, "url");
  if (webdis) known(webdis, WEBDIS, "webdis");
  if (webdis) return { url, secret: text(webdis.password, "webdis.password"), user: text(webdis.user, "webdis.user") };
  return { url, secret: text(bridge.credential, "credential") };
}

function toSettings(settings: ClientSettings): RawSettings {
  const { onEvent } = settings;
  callable(onEvent, "onEvent");
  callable(settings.fetch, "fetch");
  callable(settings.waitUntil, "waitUntil");
  return {
    prefix: settings.prefix === undefined ? undefined : text(settings.prefix, "prefix"),
    requestTimeoutMs: timeout(settings.requestTimeout, "requestTimeout"),
    maxAttempts: count(settings.maxAttempts, "maxAttempts"),
    push: flag(settings.push, "push"),
    scriptCache: flag(settings.scriptCache, "scriptCache"),
    keyLocking: flag(settings.keyLocking, "keyLocking"),
    plainHttp: flag(settings.plainHttp, "plainHttp"),
    onEvent: onEvent && ((event) => hear(event, (event) => onEvent(toEvent(event)))),
  };
}

/**
 * Calls it later, and ignores what it throws: a listener must not run inside of what it is told of.
 */
function hear<Event>(event: Event, onEvent: (event: Event) => void): void {
  void Promise.resolve(event).then(onEvent).catch(() => {});
}

function checked(options: LockOptions, names: Names<LockOptions> | Names<SemaphoreOptions> | Names<ReentrantOptions>, what: string): { readonly ttl: number | undefined; readonly patience: RawLockConfig } {
  known(options, names, what);
  milliseconds(options.maxHold, "maxHold");
  abortSignal(options.signal, "signal");
  const { waitForReplicas: replicas } = options;
  if (replicas !== undefined && (typeof replicas !== "object" || replicas === null)) {
    throw invalidArgument("waitForReplicas is { count, within }");
  }
  if (replicas) known(replicas, REPLICAS, "waitForReplicas");
  const patience = {
    waitMs: milliseconds(options.wait, "wait"),
    maxRequests: count(options.maxRequests, "maxRequests"),
    fair: flag(options.fair, "fair"),
    signalList: options.signalList === undefined ? undefined : text(options.signalList, "signalList"),
    label: options.label === undefined ? undefined : text(options.label, "label"),
    replicas: replicas && (count(replicas.count, "waitForReplicas.count") ?? 0),
    replicasWithinMs: replicas && (milliseconds(replicas.within, "waitForReplicas.within") ?? 0),
  };
  return { ttl: milliseconds(options.ttl, "ttl"), patience };
}
