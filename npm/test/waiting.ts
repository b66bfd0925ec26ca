// What a wait promises to callers in JavaScript: when what they were told is true, and which numbers they may choose.
import { check, equal, eventually, fails, Network, type Suite, thrown } from "./harness.js";

/** What gives up an acquisition is the only script that has this. */
const gaveUp = ({ seen }: Network): boolean => seen.some((words) => words[1]?.includes("GONE_MS"));

export const waiting: Suite = {
  async a_wait_in_vain_has_sent_what_leaves_the_queue_before_it_says_so(stack) {
    const lease = await stack.lock("a").tryAcquire();
    for (const waitUntil of [undefined, () => {}]) {
      const network = new Network();
      await fails("held", stack.client({ ...network, waitUntil }).lock("a", { wait: 100 }).acquire());
      check(gaveUp(network), "it has left the queue");
    }
    await eventually(async () => (await stack.lock("a").inspect()).waiters === 0);
    await lease.release();
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async an_aborted_wait_has_sent_what_leaves_the_queue_before_it_rejects(stack) {
    const lease = await stack.lock("a").tryAcquire();
    for (const waitUntil of [undefined, () => {}]) {
      const network = new Network();
      const stop = new AbortController();
      const lock = stack.client({ ...network, waitUntil }).lock("a", { wait: 60_000, signal: stop.signal });
      const rejected = thrown(lock.acquire());
      await eventually(async () => (await stack.lock("a").inspect()).waiters === 1);
      const reason = new Error("no longer");
      stop.abort(reason);
      equal((await rejected) === reason, true);
      check(gaveUp(network), "it has left the queue");
      await eventually(async () => (await stack.lock("a").inspect()).waiters === 0);
    }
    await lease.release();
  },
};
