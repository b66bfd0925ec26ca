// A provider for Medusa's Locking Module, as `ILockingProvider` of `@medusajs/framework/types` asks
// for. Its `index.ts`: `ModuleProvider(Modules.LOCKING, { services: [EdgelockProvider] })`.
import { Client, type Lease, type Lock, LostError } from "edgelock";

interface Owned {
  readonly ownerId?: string | null;
  /** In seconds. */
  readonly expire?: number;
  readonly awaitQueue?: boolean;
}

const DAY = 24 * 3_600_000;
const NOBODY = "*";
/** As many names as one lease has at most. */
const AT_ONCE = 32;
const list = (keys: string | string[]): string[] => (Array.isArray(keys) ? keys : [keys]);
const ms = (seconds: number | undefined, least: number): number | undefined => (seconds === undefined ? undefined : Math.max(Math.ceil(seconds * 1_000), least));

/**
 * Which keys an owner has, and by which tokens, stands in Redis beside the locks, so that a process
 * releases what another one acquired. Without `expire` a lock ends after a day: none is for ever.
 */
export class EdgelockProvider {
  static readonly identifier = "edgelock";
  readonly #client: Client;
  /** All keys are in one slot of a cluster, since a caller may want any of them at once. */
  readonly #tag: string;

  constructor(_resources: object = {}, options: { readonly client?: Client; readonly prefix?: string } = {}) {
    this.#client = options.client ?? Client.fromEnv();
    this.#tag = `{${options.prefix ?? "medusa"}}`;
  }

  /**
   * Has all keys or none, and renews them while the job runs. Beyond 32 keys it takes 32 at a time,
   * in one order, so that two callers never wait for each other.
   */
  async execute<T>(keys: string | string[], job: (signal?: AbortSignal) => Promise<T>, args: { timeout?: number; expire?: number } = {}): Promise<T> {
    const names = [...new Set(list(keys))].sort().map((key) => this.#nameOf(key));
    const options = { ttl: ms(args.expire ?? 60, 1_000), wait: ms(args.timeout ?? 5, 1_000), maxHold: Infinity };
    const within = (from: number, outer?: AbortSignal): Promise<T> => {
      if (from >= names.length) return job(outer);
      // Who waits behind all waiters may wait for one that waits for what it has.
      const locks = this.#client.lockAll(names.slice(from, from + AT_ONCE), { ...options, fair: from === 0 });
      // A loss of the first ones tells the job too.
      return locks.run(({ signal }) => within(from + AT_ONCE, signal), { signal: outer });
    };
    return within(0);
  }

  async acquire(keys: string | string[], args: Owned = {}): Promise<void> {
    const owner = args.ownerId ?? NOBODY;
    const ttl = ms(args.expire, 1_000) ?? DAY;
    const taken: string[] = [];
    try {
      for (const key of list(keys)) {
        if (owner !== NOBODY && (await this.#extends(key, owner, ttl))) continue;
        const limits = args.awaitQueue ? { wait: Infinity, maxRequests: Infinity } : { wait: 0 };
        // Given back if the owner's hash cannot be written.
        await using lease = await this.#lock(key, { ttl, ...limits }).acquire();
        await lease.exec([
          ["HSET", this.#ownedBy(owner), key, lease.token],
          ["PEXPIRE", this.#ownedBy(owner), Math.max(ttl, DAY)],
        ]);
        lease.handOver();
        taken.push(key);
      }
    } catch (error) {
      await this.release(taken, args);
      throw error;
    }
  }

  async release(keys: string | string[], args: Owned = {}): Promise<boolean> {
    const owner = args.ownerId ?? NOBODY;
    const released = await Promise.all(list(keys).map((key) => this.#held(key, owner, (lease) => lease.commit([["HDEL", this.#ownedBy(owner), key]]))));
    return released.every(Boolean);
  }

  async releaseAll(args: Owned = {}): Promise<void> {
    const owner = args.ownerId ?? NOBODY;
    const [keys] = await this.#client.read([["HKEYS", this.#ownedBy(owner)]]);
    await this.release(keys as string[], args);
  }

  #extends(key: string, owner: string, ttl: number): Promise<boolean> {
    return this.#held(key, owner, async (lease) => {
      await lease.renew({ ttl });
      lease.handOver();
    });
  }

  /** Whether the owner has the key; then it does this with its lease. */
  async #held(key: string, owner: string, call: (lease: Lease) => Promise<unknown>): Promise<boolean> {
    const [token] = await this.#client.read([["HGET", this.#ownedBy(owner), key]]);
    if (typeof token !== "string") return false;
    try {
      await call(this.#lock(key).resume(token));
      return true;
    } catch (error) {
      if (error instanceof LostError) return false;
      throw error;
    }
  }

  #lock(key: string, options: Parameters<Client["lock"]>[1] = {}): Lock {
    return this.#client.lock(this.#nameOf(key), options);
  }

  #nameOf(key: string): string {
    return `${this.#tag}:${encodeURIComponent(key)}:lock`;
  }

  #ownedBy(owner: string): { readonly key: string } {
    return { key: `${this.#tag}:owner:${encodeURIComponent(owner)}` };
  }
}
