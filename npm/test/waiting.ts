// What a wait promises to callers in JavaScript: that what they are told is true at that moment.
import { type FetchInit, HeldError } from "edgelock";
import { check, equal, eventually, fails, Network, type Suite, take, thrown } from "./harness.js";

/** Whether an acquisition was given up: only that script has three arguments. */
const gaveUp = ({ seen }: Network): boolean => seen.some((words) => words.length === 3 + Number(words[2]) + 3);

export const waiting: Suite = {
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

  async a_wait_that_ends_without_the_lock_has_sent_what_leaves_the_queue_before_it_says_so(stack) {
    const lease = await take(stack.lock("a"));
    const waiters = async () => (await stack.lock("a").inspect()).waiters;
    const reason = new Error("no longer");
    for (const waitUntil of [undefined, () => {}]) {
      for (const wait of [100, 60_000]) {
        const [network, stop] = [new Network(), new AbortController()];
        const ended = thrown(stack.client({ ...network, waitUntil }).lock("a", { wait }).acquire({ signal: stop.signal }));
        if (wait > 100) {
          await eventually(async () => (await waiters()) === 1);
          stop.abort(reason);
        }
        const error = await ended;
        check(wait > 100 ? error === reason : error instanceof HeldError, `${error}`);
        check(gaveUp(network), "it has left the queue");
        await eventually(async () => (await waiters()) === 0);
      }
    }
    await lease.release();
    equal(await stack.redis("EXISTS ~a"), 0);
  },
};
