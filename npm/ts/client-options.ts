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
   * Whether waiters listen for their turn. By default they do with Upstash's own hosts, with
   * webdis, and with a bridge that says that it pushes, as edgelock-bridge does. With other bridges
   * they poll, since a subscription can make such a bridge unusable for all its clients.
   */
  readonly push?: boolean | undefined;
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
}

/**
 * The settings of a client that have a default. Durations are whole milliseconds. A limit of
 * `Infinity` means none.
 */
export interface ClientSettings extends BridgeSettings {
  /** Put before every lock's name: `shop:` and `sku:42` make the key `shop:sku:42`. */
  readonly prefix?: string | undefined;
  /**
   * How long a request may wait for its reply: 1 or more. Default 2,000.
   *
   * It also bounds how long a call that does not wait for the lock obeys a bridge's `Retry-After`,
   * all pauses together.
   */
  readonly requestTimeout?: number | undefined;
  /**
   * How often an operation is sent if its requests get lost: once or more. Default 3. Sending
   * again is safe.
   */
  readonly maxAttempts?: number | undefined;
  /**
   * How long Redis remembers a name's last fence after its last hold: 60,000 ms to 366 days.
   * Default 7 days. Redis may keep it an eighth longer.
   *
   * Meanwhile each name that was locked takes some 150 bytes of Redis. Use a shorter time where
   * names are locked once, as one for each order. Once Redis has forgotten the last fence, the next
   * one is Redis's time in microseconds. It is higher than all earlier fences unless that clock was
   * set back by more than this time, which a fail-over can do too.
   *
   * If clients differ, the longest time of those that lock a name counts. Whatever is set here,
   * `once`, `idempotent`, throttles and debounces leave nothing for more than a minute after their
   * own time.
   */
  readonly fenceLife?: number | undefined;
  /** Sends the requests in place of the host's `fetch`: for a service binding, or in a test. */
  readonly fetch?: ((url: string, init: FetchInit) => Promise<FetchResponse>) | undefined;
  /**
   * Gets a promise of all that the host must let finish after the caller hung up, or got its
   * response: each call, each lease from its grant to its end, and the clean-up after them. A
   * resumed lease that was not renewed ends the host's wait after the lock's `ttl`. In a Worker:
   * `(promise) => context.waitUntil(promise)`. Without `waitUntil` a Worker stops all of
   * that, and a lock stays held for its ttl. Hosts that never stop a handler, as Node, need none.
   */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /**
   * Aborted when the caller for whom this client works is gone: `request.signal`. Workers abort
   * that only with the compatibility flag `enable_request_signal`.
   *
   * Then waits end, as by the signal of a call. The client aborts each lease's own signal, so that
   * the work stops; `run` rejects with the reason. The work may still write through the lease.
   * After half of `requestTimeout` the client gives the lock back, whether the work has ended or
   * not. Three things go on: work that `once` or `idempotent` began, so that a repeat gets its
   * result; a turn that callers share; a call of a debounce. Until such work ends, this client
   * ignores the signal, so the work may use the client. A lease that was handed over stays held.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Gets everything that happens to the locks of this client, for logs and metrics. It gets no
   * tokens.
   */
  readonly onEvent?: ((event: LockEvent) => void) | undefined;
}

/** A bridge that speaks Upstash's dialect. */
export interface UpstashOptions extends BridgeSettings {
  /** Its address: `https:`, or `http:` on the local machine. */
  readonly url: string;
  /** Its credential. */
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

/**
 * Several bridges, each with a Redis of its own; the servers know nothing of each other. Redlock.
 */
export interface QuorumOptions {
  /**
   * A lock is held once a majority granted it, and stays held while a minority fails. A renewal
   * also asks the servers that did not grant it. So a lease that began without all votes survives
   * the loss of any minority once it was renewed twice. Each operation costs one request to each
   * bridge, an acquisition two. Waiters poll.
   *
   * What needs one Redis is refused as `invalid_argument`: `reentrant`, `semaphore`, `limits`,
   * `readWrite`, `lockAll`, `once`, `idempotent`, `throttle` and `debounce`; the options `fair`,
   * `waitForReplicas` and `signalList`; all reads and writes, so `client.read`, `acquireAndRead`,
   * `tryAcquireAndRead`, and `exec`, `commit` and shared turns with commands. The data is
   * elsewhere, and the fence protects it there.
   *
   * Each call returns once a majority has decided, and the other servers follow some milliseconds
   * later. Until then they do not know an acquired lease, or know the old deadline of a renewed
   * one. They still hold the lock after a release, a forced release, or an acquisition that failed,
   * was aborted, or saw another holder. So a lease that is acquired right after such a call may
   * begin without all votes. A process that ends at once should let those requests end first; with
   * `waitUntil` the host does.
   */
  readonly quorum: readonly BridgeOptions[];
  /**
   * How long a Redis has no say after its start, since it may have lost its locks. Default, and
   * minimum: the ttl of the lock. If names are locked for different ttls, set the longest.
   *
   * Fences still grow if servers came back empty, as long as the servers' clocks differ by less
   * than this. Up to 366 days.
   */
  readonly restartQuarantine?: number | undefined;
}

/** Several bridges over which locks are spread by their names. */
export interface ShardOptions {
  /**
   * The bridges by their ids. The ids decide behind which bridge a name lives. Names with the same
   * hash tag live behind the same one. All clients must have the same ids. A new bridge gets its
   * share of all names, and no other name moves.
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
