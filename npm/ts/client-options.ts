// How a client is made: its settings, and its bridge or bridges.
import type { CallOptions } from "./abort.js";
import type { LockEvent } from "./event.js";

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

/** The settings of a bridge. A client's own are the defaults of each of its bridges. */
export interface BridgeSettings {
  /**
   * Whether waiters listen for their turn. Default: with Upstash's own hosts, with webdis, and with
   * a bridge that says that it pushes, as edgelock-bridge does. With others they poll, since a
   * subscription can make such a bridge unusable for all its clients.
   */
  readonly push?: boolean | undefined;
  /** Whether Upstash locks only the keys of a script. Default: only with Upstash's own hosts. */
  readonly keyLocking?: boolean | undefined;
  /** Allows plain `http:` to another machine, where an eavesdropper learns the credential. */
  readonly plainHttp?: boolean | undefined;
}

/** Settings that have a default. Durations are whole milliseconds; `Infinity` means no limit. */
export interface ClientSettings extends BridgeSettings {
  /** Put before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`. */
  readonly prefix?: string | undefined;
  /**
   * How long a request may wait for its reply: 1 or more. Default 2,000. It also bounds how long a
   * call that does not wait for the lock obeys a bridge's `Retry-After`, all pauses together.
   */
  readonly requestTimeout?: number | undefined;
  /** How often an operation is sent if its requests get lost, which is safe. Default 3. */
  readonly maxAttempts?: number | undefined;
  /**
   * How long Redis remembers a name's last fence after its last hold: 60,000 ms to 366 days, and at
   * most an eighth more. Default 7 days. If clients differ, the longest time of those that lock a
   * name counts.
   *
   * Meanwhile each name takes some 150 bytes of Redis, so shorten it where names are locked once.
   * Once the fence is forgotten, the next one is Redis's time in microseconds. That is higher than
   * all before, unless that clock was set back by more than this time, which a fail-over can do.
   */
  readonly fenceLife?: number | undefined;
  /** Sends the requests in place of the host's `fetch`: for a service binding, or in a test. */
  readonly fetch?: ((url: string, init: FetchInit) => Promise<FetchResponse>) | undefined;
  /**
   * Gets a promise of all that the host must let finish after the caller hung up, or got its
   * response: each call, each lease from its grant to its end, and the clean-up after them. Of a
   * resumed lease that was not renewed it waits for the lock's `ttl`. In a Worker:
   * `(promise) => context.waitUntil(promise)`. Without it a Worker stops all of that, and a lock
   * stays held for its ttl. Hosts that never stop a handler, as Node, need none.
   */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /**
   * Aborted when the caller for whom this client works is gone: `request.signal`. Workers abort
   * that only with the compatibility flag `enable_request_signal`.
   *
   * Then waits end, as by the signal of a call. Each lease's own signal is aborted, so that the
   * work stops; `run` rejects with the reason. The work may still write through the lease. After
   * half of `requestTimeout` the lock is given back, whether the work has ended or not. Three
   * things go on, and until they end the client ignores this signal: work that `once` or
   * `idempotent` began, a turn that callers share, and a call of a debounce. A lease that was
   * handed over stays held.
   */
  readonly signal?: AbortSignal | undefined;
  /** Gets all that happens to the locks of this client, for logs and metrics, without tokens. */
  readonly onEvent?: ((event: LockEvent) => void) | undefined;
}

/** A bridge that speaks Upstash's dialect. */
export interface UpstashOptions extends BridgeSettings {
  /** Its address: `https:`, or `http:` on the local machine. */
  readonly url: string;
  readonly credential: string;
  readonly webdis?: undefined;
}

/** A webdis. */
export interface WebdisOptions extends BridgeSettings {
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

/** Several bridges, each with a Redis of its own that knows nothing of the others: Redlock. */
export interface QuorumOptions {
  /**
   * A lock is held once a majority granted it, and stays held while a minority fails. A renewal
   * also asks the servers that did not grant it. So a lease that began without all votes survives
   * the loss of any minority once it was renewed twice. Each operation costs one request to each
   * bridge, an acquisition two. Waiters poll.
   *
   * What needs one Redis is refused as `invalid_argument`: `reentrant`, `semaphore`, `limits`,
   * `readWrite`, `lockAll`, `once`, `idempotent`, `throttle` and `debounce`; the options `fair`,
   * `waitForReplicas` and `signalList`; all reads and writes. The fence protects data elsewhere.
   *
   * Each call returns once a majority has decided, and the other servers follow some milliseconds
   * later. A lease that is acquired before they do may begin without all votes. A process that ends
   * at once should let those requests end first; with `waitUntil` the host does.
   */
  readonly quorum: readonly BridgeOptions[];
  /**
   * How long a Redis has no say after its start, since it may have lost its locks: up to 366 days.
   * Default, and minimum: the ttl of the lock. If ttls of a name differ, set the longest. Fences
   * still grow if servers came back empty and their clocks differ by less than this.
   */
  readonly restartQuarantine?: number | undefined;
}

/** Several bridges over which locks are spread by their names. */
export interface ShardOptions {
  /**
   * The bridges by their ids, which decide behind which one a name lives. Names with the same hash
   * tag live together. All clients must have the same ids. A new bridge gets its share of all
   * names, and no other name moves.
   */
  readonly shards: Readonly<Record<string, BridgeOptions>>;
}

/** Options of a read without a lock. */
export interface ReadOptions extends CallOptions {
  /** With `shards`: the name of a lock. The read goes to the bridge behind which that lives. */
  readonly shardOf?: string | undefined;
}

/** A client's settings, and its bridge or bridges. */
export type ClientOptions = ClientSettings & (BridgeOptions | QuorumOptions | ShardOptions);
