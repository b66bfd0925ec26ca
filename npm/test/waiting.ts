// What a wait promises to callers in JavaScript: that what they are told is true at that moment,
// and which numbers they may choose.
import { Client, type FetchInit, HeldError, type LockOptions } from "edgelock";
import { check, equal, eventually, fails, Network, type Suite, take, thrown } from "./harness.js";

/** Whether an acquisition was given up: only that script has three arguments. */
const gaveUp = ({ seen }: Network): boolean => seen.some((words) => words.length === 3 + Number(words[2]) + 3);

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

  async a_grant_that_is_over_when_it_is_read_is_asked_for_again_while_there_is_time_to_wait(stack) {
    const { now } = performance;
    let ahead = 0;
    performance.now = () => now.call(performance) + ahead;
    // As its clock shows, the host stands still after each of the first answers, until less than
    // the drift is left of a ttl of a minute.
    const late = () => {
      const network = new Network();
      const fetch = async (url: string, init: FetchInit) => {
        const response = await network.fetch(url, init);
        if (network.seen.length < 3) ahead += 59_500;
        return response;
      };
      return stack.client({ fetch });
    };
    const options = { ttl: 60_000, wait: 600_000 };
    try {
      await (await late().lock("a", options).acquire()).release();
      equal(await late().lock("a", options).run(() => 1), 1);
      await (await late().lockAll(["a", "b"], options).acquire()).release();
      await fails("expired", late().lock("c", { ttl: 60_000 }).tryAcquire());
    } finally {
      performance.now = now;
    }
  },

  async behind_ten_thousand_waiters_nobody_waits(stack) {
    const lease = await take(stack.lock("a"));
    const network = new Network();
    const fetch = async (url: string, init: FetchInit) => {
      const response = await network.fetch(url, init);
      const { result } = JSON.parse(await response.text()) as { result: unknown[] };
      // The fourth part of a refusal is how many wait before this one.
      if (result.length > 4) result[3] = 10_000;
      return new Response(JSON.stringify({ result }));
    };
    const error = await fails("held", stack.client({ fetch }).lock("a", { wait: 60_000 }).acquire());
    check(error instanceof HeldError && error.ahead === 10_000, `${error}`);
    check(gaveUp(network), "it has left the queue");
    await lease.release();
  },

  async beside_ten_thousand_waiters_of_one_process_nobody_waits(stack) {
    let asked = 0;
    // Who stands far back asks seldom.
    const held = `{"result":[0,"NONCE",60000,9999,"1700000000000000",""]}`;
    const fetch = async (_: string, { body = "" }: FetchInit) => {
      asked++;
      const words = JSON.parse(body) as string[];
      return new Response(held.replace("NONCE", words[3 + Number(words[2])] ?? ""));
    };
    const stop = new AbortController();
    // Each request has a client of its own, as in a Worker, and waits for a lock of its own.
    const one = (n: number) => stack.client({ fetch, push: false }).lock(`${n}`, { wait: 60_000, signal: stop.signal }).acquire();
    const waiting = Array.from({ length: 10_000 }, (_, n) => thrown(one(n)));
    await eventually(async () => asked === 10_000);
    await fails("held", one(10_000));
    stop.abort(new Error("enough"));
    await Promise.all(waiting);
    // The host is still busy with those that have left.
    const lease = await take(stack.lock("a", { ttl: 600_000 }));
    await fails("held", stack.lock("a", { wait: 100 }).acquire());
    await lease.release();
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
