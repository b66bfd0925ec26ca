// The promises of taking a lock over from its holder. They are those of tests/it/take_over.rs, with
// the same names.
import { type Client, type Command, type FetchInit, GroupCommit, type Lock, type LockOptions } from "edgelock";
import { check, equal, eventually, fails, Network, sleep, type Suite, take } from "./harness.js";

const taking = (client: Client, options: LockOptions = {}): Lock => client.lock("a", { takeOver: true, ...options });
const incr = (key: string): Command => ["INCR", { key }];
const LONG = 40_000;

export const takeOvers: Suite = {
  async whoever_takes_a_lock_over_has_it_and_the_old_holder_writes_no_more(stack) {
    const old = await take(stack.lock("a", { ttl: 60_000 }));
    const lease = await take(taking(stack.client()));
    check(lease.fence > old.fence, "fences grow");
    equal(await stack.redis("GET ~a"), lease.token);
    const write = [incr(`${stack.mark}n`)];
    await fails("lost", old.exec(write));
    check(old.signal.aborted, "it is told");
    await fails("lost", stack.lock("a").resume(old.token).commit(write));
    await lease.commit(write);
    equal(await stack.redis("GET ~n"), "1");
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async a_lock_of_another_program_is_refused_and_stays(stack) {
    await (await take(stack.lock("a"))).release();
    await stack.redis("SET ~a theirs PX 30000");
    equal(await taking(stack.client()).tryAcquire(), null);
    equal(await stack.redis("GET ~a"), "theirs");
  },

  async a_lock_of_another_program_is_waited_for(stack) {
    await stack.redis("SET ~a theirs");
    const waiting = taking(stack.client(), { wait: LONG }).acquire();
    await sleep(50);
    await stack.redis("DEL ~a");
    await (await waiting).release();
  },

  async waiters_stay_in_line_behind_the_new_holder(stack) {
    const old = await take(stack.lock("a"));
    const waiting = stack.lock("a", { wait: LONG, fair: true }).acquire();
    await eventually(async () => (await stack.waitersFor("a")) === 1);
    const lease = await take(taking(stack.client()));
    equal(await stack.waitersFor("a"), 1);
    await fails("lost", old.release());
    await lease.release();
    await (await waiting).release();
  },

  async a_take_over_whose_reply_is_lost_is_asked_again(stack) {
    const old = await take(stack.lock("a"));
    const lease = await take(taking(stack.client({ ...new Network("lose the answer") })));
    equal(await stack.lastFence("a"), lease.fence);
    await fails("lost", old.renew());
    await lease.release();
  },

  async a_late_copy_takes_the_lock_back_from_nobody(stack) {
    for (const isHeld of [false, true]) {
      const old = isHeld ? await stack.lock("a").acquire() : undefined;
      const sent: Array<() => Promise<string>> = [];
      const noted = (url: string, { signal: _, ...init }: FetchInit) => {
        sent.push(async () => (await fetch(url, init)).text());
        return fetch(url, init);
      };
      const first = await take(taking(stack.client({ fetch: noted })));
      const newer = await take(taking(stack.client()));
      await sent[0]?.();
      equal(await stack.redis("GET ~a"), newer.token);
      await newer.release();
      await sent[0]?.();
      equal(await stack.redis("EXISTS ~a"), 0);
      for (const lease of [old, first]) await (lease && fails("lost", lease.renew()));
    }
  },

  async a_holder_that_listens_is_stopped_at_once(stack) {
    for (const takes of [true, false]) {
      const lock = stack.lock("a", { ttl: 60_000, listen: true });
      const stopped = (signal: AbortSignal) => new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      const working = fails("lost", lock.run(({ signal }) => stopped(signal)));
      await eventually(async () => Number((await stack.redis("PUBSUB NUMSUB {~a}:lost") as unknown[])[1]) === 1);
      const begun = performance.now();
      const lease = takes ? await take(taking(stack.client())) : undefined;
      if (!takes) equal(await stack.lock("a").forceRelease(), true);
      await working;
      check(performance.now() - begun < 15_000, "its next renewal would be later");
      await lease?.release();
    }
  },

  async only_a_plain_lock_can_be_taken_over(stack) {
    const client = stack.client();
    await fails("invalid_argument", () => client.lock("a", { takeOver: 1 } as never));
    await fails("invalid_argument", () => taking(client, { fair: true }));
    await fails("invalid_argument", () => taking(client, { signalList: "list" }));
    const group = new GroupCommit<number, number>({ reads: () => [], decide: (item) => ({ answer: item }) });
    await fails("invalid_argument", group.submit(taking(client), 1));
  },
};
