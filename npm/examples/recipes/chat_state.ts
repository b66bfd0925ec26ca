// The state of a bot of Vercel's Chat SDK, in Redis behind a bridge: its threads' locks are those
// of edgelock, and the rest goes over the same bridge by `@upstash/redis`.
import { Redis } from "@upstash/redis";
import type { Lock, QueueEntry, StateAdapter } from "chat";
import { type Client, type Lock as EdgeLock, LostError } from "edgelock";

interface Bridge {
  readonly url: string;
  readonly credential: string;
}

/**
 * `prefix` is before each key. The SDK renews a thread's lock while its handler runs; each call is
 * one request.
 */
export function chatState(client: Client, { url, credential }: Bridge, prefix = "chat"): StateAdapter {
  const redis = new Redis({ url, token: credential, automaticDeserialization: false, enableTelemetry: false });
  const key = (kind: string, id: string): string => `${prefix}:${kind}:${id}`;
  const subscriptions = `${prefix}:subscriptions`;
  // Braces have a meaning in the name of a lock.
  const lockOf = (thread: string, ttl?: number): EdgeLock => client.lock(key("lock", encodeURIComponent(thread)), { ttl });
  const parsed = <T>(text: unknown): T | null => (typeof text === "string" ? (JSON.parse(text) as T) : null);
  const px = (ttl: number | undefined) => (ttl ? { px: ttl } : {});

  return {
    // Each call is a request of its own.
    connect: async () => {},
    disconnect: async () => {},

    async acquireLock(threadId, ttlMs): Promise<Lock | null> {
      const lease = await lockOf(threadId, ttlMs).tryAcquire();
      return lease && { threadId, token: lease.handOver(), expiresAt: Date.now() + ttlMs };
    },
    async extendLock({ threadId, token }, ttlMs) {
      const lease = lockOf(threadId).resume(token);
      return orLost(lease.renew({ ttl: ttlMs }));
    },
    async releaseLock({ threadId, token }) {
      await orLost(lockOf(threadId).resume(token).release());
    },
    async forceReleaseLock(threadId) {
      await lockOf(threadId).forceRelease();
    },

    async subscribe(threadId) {
      await redis.sadd(subscriptions, threadId);
    },
    async unsubscribe(threadId) {
      await redis.srem(subscriptions, threadId);
    },
    isSubscribed: async (threadId) => (await redis.sismember(subscriptions, threadId)) === 1,

    get: async <T>(id: string) => parsed<T>(await redis.get(key("cache", id))),
    async set(id, value, ttlMs) {
      await redis.set(key("cache", id), JSON.stringify(value), px(ttlMs) as { px: number });
    },
    async setIfNotExists(id, value, ttlMs) {
      return (await redis.set(key("cache", id), JSON.stringify(value), { nx: true, ...px(ttlMs) } as { nx: true; px: number })) === "OK";
    },
    async delete(id) {
      await redis.del(key("cache", id), key("list", id));
    },

    async appendToList(id, value, { maxLength, ttlMs } = {}) {
      const list = key("list", id);
      const all = redis.multi().rpush(list, JSON.stringify(value));
      if (maxLength) all.ltrim(list, -maxLength, -1);
      await (ttlMs ? all.pexpire(list, ttlMs) : all.persist(list)).exec();
    },
    async getList<T>(id: string) {
      const list = await redis.lrange(key("list", id), 0, -1);
      return list.map((text) => JSON.parse(text) as T);
    },

    async enqueue(threadId, entry, maxSize) {
      const queue = key("queue", threadId);
      // It ends with its last entry, though nobody takes it out.
      const all = redis.multi().rpush(queue, JSON.stringify(entry)).ltrim(queue, -maxSize, -1).pexpireat(queue, entry.expiresAt).llen(queue);
      return (await all.exec()).at(-1) as number;
    },
    dequeue: async (threadId) => parsed<QueueEntry>(await redis.lpop(key("queue", threadId))),
    queueDepth: (threadId) => redis.llen(key("queue", threadId)),
  };
}

/** Whether the lock was still held by the token. */
async function orLost(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof LostError) return false;
    throw error;
  }
}
