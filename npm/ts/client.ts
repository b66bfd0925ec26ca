// Where the bridge is, and how to reach it.
import { abortSignal, callable, count, flag, milliseconds, text } from "./check.js";
import { type Command, toRaw } from "./command.js";
import { invalidArgument } from "./errors.js";
import { environment, lookUp } from "./environment.js";
import { type LockEvent, toEvent } from "./event.js";
import { instance, Remade } from "./instance.js";
import { Lock, type LockOptions, type ReentrantOptions } from "./lock.js";
import type { RawClient, RawPatience, RawSettings, Reply } from "./raw.js";

/** What a `fetch` of the caller's own is called with. */
export interface FetchInit {
  readonly method: "POST";
  readonly redirect: "manual";
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** What is read of its response. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: unknown;
  text(): Promise<string>;
}

/** Everything about a client that has a default. Durations are milliseconds. */
export interface ClientSettings {
  /** Put before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`. */
  readonly prefix?: string | undefined;
  /** How long to wait for the answer to one request, at most. 2,000 by itself. */
  readonly requestTimeout?: number | undefined;
  /** How often an operation is sent when its requests get lost. 3 by itself. Sending again is safe. */
  readonly attempts?: number | undefined;
  /** Whether those who wait for a lock listen for their turn. On by itself. */
  readonly push?: boolean | undefined;
  /** Whether scripts travel as `EVALSHA`, and as `EVAL` only when Redis does not know them. Off by itself. */
  readonly scriptCache?: boolean | undefined;
  /** Whether Upstash is to lock only the keys of a script. Set by itself for its own hosts. */
  readonly keyLocking?: boolean | undefined;
  /** Allows plain `http:` to other hosts than this one: whoever listens there learns the credential. */
  readonly plainHttp?: boolean | undefined;
  /** Sends the requests in place of the host's `fetch`: behind a service binding, or in a test. */
  readonly fetch?: ((url: string, init: FetchInit) => Promise<FetchResponse>) | undefined;
  /**
   * Is given what has to be cleaned up after the response, so that the host lets it finish: in a Worker
   * `(promise) => context.waitUntil(promise)`.
   */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /** Hears of what happens to the locks of this client, for logs and metrics. There are no tokens in it. */
  readonly onEvent?: ((event: LockEvent) => void) | undefined;
}

/** A bridge of Upstash's dialect. */
export interface UpstashOptions {
  /** Its address: `https:`, or `http:` to the local machine. */
  readonly url: string;
  /** Its credential. */
  readonly token: string;
  readonly webdis?: undefined;
}

/** A webdis. */
export interface WebdisOptions {
  /** Its address: `https:`, or `http:` to the local machine. */
  readonly url: string;
  /** Whom its `acl` lets have `EVAL`, and `SUBSCRIBE` for those who wait. One that lets everybody have everything takes any. */
  readonly webdis: { readonly user: string; readonly password: string };
  readonly token?: undefined;
}

/** A client's settings, and its bridge. */
export type ClientOptions = ClientSettings & (UpstashOptions | WebdisOptions);

/**
 * Hands out locks that live behind one bridge.
 *
 * Making one sends nothing and needs nothing of the host, so it may be made at module level, or anew in each handler.
 */
export class Client {
  readonly #raw: Remade<RawClient>;

  constructor(options: ClientOptions) {
    if (typeof options !== "object" || options === null) throw invalidArgument("a client is made of { url, token }");
    const { webdis } = options;
    const url = text(options.url, "url");
    const secret = webdis ? text(webdis.password, "webdis.password") : text(options.token, "token");
    const settings = { ...toSettings(options), user: webdis && text(webdis.user, "webdis.user") };
    this.#raw = new Remade(() => new (instance().raw.Client)(url, secret, settings));
  }

  /**
   * A client of the bridge that the environment names: a Worker's `env`, `process.env`, `Deno.env`; by itself that of the process.
   *
   * It looks for `EDGELOCK_BRIDGE_URL` and `EDGELOCK_BRIDGE_TOKEN`, then for Upstash's `UPSTASH_REDIS_REST_URL` and `…_TOKEN`, then
   * for Vercel's `KV_REST_API_URL` and `…_TOKEN`.
   */
  static fromEnv(env: object = environment(), settings: ClientSettings = {}): Client {
    if (typeof env !== "object" || env === null) throw invalidArgument("an environment is an object");
    return new this({ ...settings, ...lookUp(env) });
  }

  /** The lock called `name`, 1 to 512 bytes with the prefix. Sends nothing. The lock is the Redis key of that name. */
  lock(name: string, options: LockOptions = {}): Lock {
    text(name, "a lock's name");
    const { ttl, patience } = checked(options);
    return new Lock(name, new Remade(() => this.#raw.get().value.lock(name, ttl, patience)), options);
  }

  /**
   * The lock called `name` as `owner` may take it: again and again while it has it, from any handler that says the same `owner`, and
   * free once it was released as often. It is stored as Redisson stores its `RLock`. Sends nothing.
   */
  reentrant(name: string, owner: string, options: ReentrantOptions = {}): Lock {
    text(name, "a lock's name");
    text(owner, "an owner");
    const { ttl, patience } = checked(options);
    return new Lock(name, new Remade(() => this.#raw.get().value.reentrant(name, owner, ttl, patience)), options);
  }

  /** Runs commands that only read, together and without a lock: what they say may be out of date on arrival. One request. */
  async read(reads: readonly Command[]): Promise<Reply[]> {
    const commands = toRaw(reads);
    const { instance, value: client } = this.#raw.get();
    return instance.wait(() => client.read(commands));
  }
}

function toSettings(settings: ClientSettings): RawSettings {
  const { onEvent } = settings;
  callable(onEvent, "onEvent");
  return {
    prefix: settings.prefix === undefined ? undefined : text(settings.prefix, "prefix"),
    requestTimeoutMs: milliseconds(settings.requestTimeout, "requestTimeout"),
    attempts: count(settings.attempts, "attempts"),
    push: flag(settings.push, "push"),
    scriptCache: flag(settings.scriptCache, "scriptCache"),
    keyLocking: flag(settings.keyLocking, "keyLocking"),
    plainHttp: flag(settings.plainHttp, "plainHttp"),
    fetch: callable(settings.fetch, "fetch"),
    waitUntil: callable(settings.waitUntil, "waitUntil"),
    onEvent: onEvent && ((event) => onEvent(toEvent(event))),
  };
}

function checked(options: LockOptions): { readonly ttl: number | undefined; readonly patience: RawPatience } {
  if (typeof options !== "object" || options === null) throw invalidArgument("a lock's options are an object");
  milliseconds(options.maxHold, "maxHold");
  abortSignal(options.signal, "signal");
  const { replicas } = options;
  if (replicas !== undefined && (typeof replicas !== "object" || replicas === null)) {
    throw invalidArgument("replicas are { count, within }");
  }
  const patience = {
    waitMs: milliseconds(options.wait, "wait"),
    maxRequests: count(options.maxRequests, "maxRequests"),
    fair: flag(options.fair, "fair"),
    replicas: replicas && (count(replicas.count, "replicas.count") ?? 0),
    replicasWithinMs: replicas && (milliseconds(replicas.within, "replicas.within") ?? 0),
  };
  return { ttl: milliseconds(options.ttl, "ttl"), patience };
}
