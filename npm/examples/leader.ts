// One leader among many processes: it works for as long as it can, and another follows it.
import { type Client, EdgelockError } from "edgelock";

/** Once the leader is silent for so long, another leads. */
const TTL = 15_000;

/**
 * Waits until it leads, and works then. Ends when `stop` is aborted, or `work` returns. `work` gets
 * a signal, which is aborted when another may lead: at once if an operator frees the lock.
 */
export async function lead(client: Client, work: (signal: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<void> {
  const lock = client.lock("leader", { ttl: TTL, wait: Infinity, maxRequests: Infinity, maxHold: Infinity, listen: true });
  while (!stop.aborted) {
    try {
      return await lock.run(({ signal }) => work(signal), { signal: stop });
    } catch (error) {
      if (stop.aborted) return;
      // The lead was lost, or Redis is away. What `work` throws is not ours.
      if (!(error instanceof EdgelockError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, TTL / 10));
    }
  }
}
