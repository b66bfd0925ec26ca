// A job that each machine's clock starts every minute, and one machine does: for a while after that
// none does it again, so that a machine whose clock is late does not. Whoever knows ShedLock:
// `lockAtMostFor` is the ttl, and `lockAtLeastFor` is `atLeast`.
import { type Client, HeldError } from "edgelock";

/** If the machine dies, another may do the job after this time. Longer work is renewed. */
const TTL = 6_000;

/**
 * Whether this machine did it. Then none does it for `atLeast` milliseconds from its begin. If the
 * work fails, the next machine may try at once.
 */
export async function once(client: Client, job: string, work: (signal: AbortSignal) => Promise<void>, atLeast = 50_000): Promise<boolean> {
  try {
    return await client.lock(`job:${job}`, { ttl: TTL, wait: 0 }).run(async (lease) => {
      const began = performance.now();
      await work(lease.signal);
      const rest = Math.ceil(atLeast - (performance.now() - began));
      if (rest > 0) {
        // A renewal never shortens, so the lock may stay taken for up to a ttl longer.
        if (rest > TTL) await lease.renew({ ttl: rest });
        // Nobody takes it over: it stays locked until its ttl is over.
        lease.handOver();
      }
      return true;
    });
  } catch (error) {
    if (error instanceof HeldError) return false;
    throw error;
  }
}
