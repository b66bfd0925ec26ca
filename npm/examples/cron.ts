// A Worker whose clock calls every instance, and whose work is done once a day: one takes the lock,
// the others give up at once.
import { Client, HeldError } from "edgelock";

export default {
  async scheduled(controller: { readonly scheduledTime: number }, env: object, context: { waitUntil(promise: Promise<unknown>): void }): Promise<"done" | "done before" | "another does it"> {
    const day = new Date(controller.scheduledTime).toISOString().slice(0, 10);
    const done = { key: `{daily}:${day}` };
    const client = Client.fromEnv(env, { waitUntil: (promise) => context.waitUntil(promise) });
    const lock = client.lock("daily", { ttl: 30_000, wait: 0 });
    try {
      return await lock.run(async (lease) => {
        const [before] = await lease.exec([["GET", done]]);
        if (before !== null) return "done before";
        await work(lease.signal);
        // If this instance dies before, the next call does it; if it lost the lock, this does not
        // arrive.
        await lease.commit([["SET", done, lease.fence, "PX", 7 * 24 * 3_600_000]]);
        return "done";
      });
    } catch (error) {
      if (error instanceof HeldError) return "another does it";
      throw error;
    }
  },
};

/** Stands for what is to be done once. */
async function work(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
  signal.throwIfAborted();
}
