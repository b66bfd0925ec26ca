// Every machine's clock calls this. Returns whether this call did the work.
import { Client, HeldError } from "edgelock";

const client = Client.fromEnv();

type Work = (signal: AbortSignal) => Promise<void>;

export async function daily(work: Work, now = new Date()): Promise<boolean> {
  const date = now.toISOString().slice(0, 10);
  const once = client.once(`daily:${date}`, { keep: 7 * 24 * 3_600_000, ttl: 30_000, wait: 0 });
  try {
    const { replayed } = await once.run(({ signal }) => work(signal));
    return !replayed;
  } catch (error) {
    // Another machine is at it. If it fails or dies, the next call does the work.
    if (error instanceof HeldError) return false;
    throw error;
  }
}
