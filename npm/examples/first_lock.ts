import { Client, HeldError } from "edgelock";

export default {
  async fetch(request: Request, env: object, context: { waitUntil(promise: Promise<unknown>): void }): Promise<Response> {
    // The lock is given back whatever becomes of the caller.
    const client = Client.fromEnv(env, { waitUntil: (promise) => context.waitUntil(promise), signal: request.signal });
    const lock = client.lock("sku:43", { ttl: 10_000, wait: 3_000 });
    const stock = { key: "{sku:43}:stock" };
    try {
      // One request takes the lock and reads, and one writes and releases.
      // If the lease is lost in between, the write does not happen.
      const [lease, [read]] = await lock.acquireAndRead([["GET", stock]]);
      const left = Number(read ?? 5);
      if (left === 0) {
        await lease.release();
        return new Response("sold out\n");
      }
      await lease.commit([["SET", stock, left - 1]]);
      return new Response(`sold one, ${left - 1} left, fence ${lease.fence}\n`);
    } catch (error) {
      if (error instanceof HeldError) return new Response("too many at once, come again\n", { status: 503 });
      throw error;
    }
  },
};
