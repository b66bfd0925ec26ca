// What a wait promises to callers in JavaScript: that what they are told is true at that moment,
// and which numbers they may choose.
import { Client, type FetchInit, type LockOptions } from "edgelock";
import { check, equal, eventually, fails, Network, type Suite, take, thrown } from "./harness.js";

/** Whether an acquisition was given up: only that script contains this word. */
const gaveUp = ({ seen }: Network): boolean => seen.some((words) => words[1]?.includes("GONE_MS"));

export const waiting: Suite = {
  async a_wait_in_vain_has_sent_what_leaves_the_queue_before_it_says_so(stack) {
    const lease = await take(stack.lock("a"));
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
    const lease = await take(stack.lock("a"));
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

  async infinity_is_no_limit_and_what_is_no_number_of_the_kind_is_refused(stack) {
    const { url, credential } = stack.bridge;
    const quorum = [{ url, credential }];
    const client = stack.client({ requestTimeout: Infinity, maxAttempts: Infinity });
    const endless: LockOptions = { wait: Infinity, maxRequests: Infinity, maxHold: Infinity };
    for (const fair of [false, true]) {
      const lock = client.lock("a", { ...endless, fair });
      const lease = await lock.acquire();
      const ran = lock.run(async ({ fence }) => fence);
      await eventually(async () => (await lock.inspect()).waiters === 1);
      await lease.release();
      check((await ran) > lease.fence, "it had its turn");
    }
    for (const odd of [-1, -Infinity, NaN, "1" as never]) {
      for (const name of ["ttl", "wait", "maxRequests", "maxHold"]) {
        await fails("invalid_argument", () => client.lock("a", { [name]: odd }));
      }
      for (const name of ["requestTimeout", "maxAttempts"]) {
        await fails("invalid_argument", () => stack.client({ [name]: odd }));
      }
      await fails("invalid_argument", () => client.lock("a", { waitForReplicas: { count: 1, within: odd } }));
      await fails("invalid_argument", () => new Client({ quorum, restartQuarantine: odd }));
    }
    // Values that mean "for ever" elsewhere, and would mean no time at all here.
    await fails("invalid_argument", () => stack.client({ requestTimeout: 0 }));
    await fails("invalid_argument", () => client.lock("a", { ttl: Infinity }));
    await fails("invalid_argument", () => new Client({ quorum, restartQuarantine: Infinity }));
  },

  async a_wait_is_for_a_bridge_that_is_away(stack) {
    let away = 6;
    const real = async (url: string, init: FetchInit) => {
      if (away-- > 0) throw new TypeError("no network");
      return fetch(url, init);
    };
    const client = stack.client({ fetch: real });
    await (await client.lock("a", { wait: 60_000 }).acquire()).release();
    away = 1_000;
    await fails("unavailable", client.lock("a", { wait: 2_000, maxRequests: 5 }).acquire());
    check(away <= 1_000 - 4, "it asked more often than without a wait");
    await fails("unavailable", client.lock("a").tryAcquire());
  },
};
