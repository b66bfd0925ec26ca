// The promises of several names at once. They are those of tests/it/multi.rs, with the same names.
import { Client, type Command, GroupCommit, HeldError, type LockAllOptions, type Lock } from "edgelock";
import { check, equal, eventually, fails, Network, sleep, type Stack, type Suite, take } from "./harness.js";

const LONG = 40_000;
const all = (stack: Stack, names: readonly string[], options: LockAllOptions = {}, client = stack.client()): Lock => client.lockAll(names, options);
const incr = (stack: Stack): Command[] => [["INCR", { key: `${stack.mark}n` }]];
const waiters = async (stack: Stack, name: string): Promise<number> => stack.waitersFor(name);
const holder = (stack: Stack, name: string): Promise<unknown> => stack.redis(`GET ~${name}`);
const areFree = async (stack: Stack): Promise<boolean> => (await stack.redis("EXISTS ~a ~b ~c")) === 0;

export const multis: Suite = {
  async all_names_have_one_token_and_one_fence_above_the_last_of_each(stack) {
    const before = await take(stack.lock("b"));
    await before.release();
    const lease = await take(all(stack, ["a", "b", "c"]));
    check(lease.fence > before.fence, "one fence");
    for (const name of ["a", "b", "c"]) {
      equal(await holder(stack, name), lease.token);
      equal((await stack.lock(name).inspect()).fence, lease.fence);
    }
    await lease.release();
    equal(await areFree(stack), true);
  },

  async none_is_taken_while_one_is_held_and_the_error_says_which(stack) {
    const held = await take(stack.lock("c", { label: "worker 7", ttl: 60_000 }));
    const error = (await fails("held", all(stack, ["a", "c", "b"], { wait: 0 }).acquire())) as HeldError;
    equal([error.lock, error.label], [`${stack.mark}c`, "worker 7"]);
    check((error.remaining ?? 0) > 50_000, "for how long");
    equal([await holder(stack, "a"), await holder(stack, "b")], [null, null]);
    await held.release();
    await (await take(all(stack, ["a", "c", "b"]))).release();
  },

  async locks_of_one_name_exclude_it_and_are_excluded(stack) {
    const both = all(stack, ["a", "b"]);
    const lease = await take(both);
    for (const name of ["a", "b"]) {
      equal(await stack.lock(name).tryAcquire(), null);
      equal(await stack.redis(`SET ~${name} theirs NX PX 60000`), null);
    }
    equal(await all(stack, ["b", "c"]).tryAcquire(), null);
    await lease.release();
    await stack.redis("SET ~b theirs NX PX 60000");
    equal(await both.tryAcquire(), null);
    await stack.redis("DEL ~b");
    await (await take(both)).release();
  },

  async a_waiter_has_none_of_its_names_until_it_has_all(stack) {
    const [first, second] = [await take(stack.lock("b")), await take(stack.lock("c"))];
    const waiting = all(stack, ["a", "b", "c"], { wait: LONG, maxRequests: 1_000, fair: false }).acquire();
    await eventually(async () => (await waiters(stack, "b")) === 1);
    await first.release();
    await eventually(async () => (await waiters(stack, "c")) === 1);
    equal([await holder(stack, "a"), await holder(stack, "b")], [null, null]);
    await second.release();
    const lease = await waiting;
    for (const name of ["a", "b", "c"]) equal([await holder(stack, name), await waiters(stack, name)], [lease.token, 0]);
    await lease.release();
  },

  async the_order_of_the_names_makes_no_difference(stack) {
    const lease = await take(all(stack, ["a", "b", "c"]));
    const other = all(stack, ["c", "a", "b"]);
    equal(await other.tryAcquire(), null);
    const resumed = other.resume(lease.handOver());
    await resumed.renew();
    equal(await resumed.commit(incr(stack)), [1]);
  },

  async commands_run_only_while_all_names_are_held(stack) {
    const both = all(stack, ["a", "b"]);
    const [lease] = await both.acquireAndRead([]);
    equal([await lease.exec(incr(stack)), await lease.commit(incr(stack))], [[1], [2]]);
    for (const call of ["exec", "commit", "release"] as const) {
      const lost = await take(both);
      await stack.redis("DEL ~b");
      await fails("lost", call === "release" ? lost.release() : lost[call](incr(stack)));
      equal(await areFree(stack), true);
    }
    equal(await stack.redis("GET ~n"), "2");
  },

  async a_renewal_gives_every_name_its_ttl_again(stack) {
    const lease = await take(all(stack, ["a", "b"]));
    await stack.redis("PEXPIRE ~b 5000");
    await lease.renew({ ttl: 60_000 });
    for (const name of ["a", "b"]) check(Number(await stack.redis(`PTTL ~${name}`)) > 50_000, "its ttl");
    await lease.release();
  },

  async a_try_that_reads_reads_whether_all_are_free_or_not(stack) {
    await stack.redis("SET ~stock 7");
    const read: Command[] = [["GET", { key: `${stack.mark}stock` }]];
    const both = all(stack, ["a", "b"]);
    const [lease, found] = await both.tryAcquireAndRead(read);
    equal([lease !== null, found], [true, ["7"]]);
    equal(await both.tryAcquireAndRead(read), [null, ["7"]]);
    await lease?.release();
  },

  async a_lost_reply_or_a_repeat_counts_once(stack) {
    const network = new Network("lose the answer", "pass", "lose the answer", "pass", "lose the answer");
    const lease = await take(all(stack, ["a", "b"], {}, stack.client(network)));
    await lease.exec(incr(stack));
    await lease.release();
    equal([await areFree(stack), await stack.redis("GET ~n")], [true, "1"]);
  },

  async an_acquisition_that_was_given_up_holds_no_name_and_stands_in_no_queue(stack) {
    const client = stack.client({ ...new Network("lose the answer"), maxAttempts: 1 });
    equal((await fails("unavailable", all(stack, ["a", "b"], {}, client).tryAcquire())).isOutcomeUnknown, true);
    await eventually(() => areFree(stack));
    const held = await take(stack.lock("b"));
    const stop = new AbortController();
    const waiting = all(stack, ["a", "b"], { wait: LONG, fair: true, signal: stop.signal }).acquire();
    const stopped = waiting.catch((reason: unknown) => reason);
    await eventually(async () => (await waiters(stack, "a")) === 1);
    stop.abort("enough");
    equal(await stopped, "enough");
    await eventually(async () => (await waiters(stack, "a")) + (await waiters(stack, "b")) === 0);
    await held.release();
  },

  async it_is_kept_while_work_runs_and_given_back_behind_it(stack) {
    let renewals = 0;
    const client = stack.client({ onEvent: ({ type }) => void (renewals += type === "renewed" ? 1 : 0) });
    const done = await all(stack, ["a", "b"], { ttl: 2_000 }, client).run(async (lease) => {
      await eventually(() => renewals >= 4);
      equal(await holder(stack, "a"), await holder(stack, "b"));
      return lease.remaining > 0;
    });
    equal([done, await areFree(stack)], [true, true]);
  },

  async inspection_lists_who_holds_any_of_the_names(stack) {
    const free = await all(stack, ["a", "b", "c"]).inspect();
    equal([free.holder, free.holders, free.isRead, free.free], [null, [], false, null]);
    const both = await take(all(stack, ["c", "a"], { label: "cart 7" }));
    const one = await take(stack.lock("b"));
    const found = await all(stack, ["a", "b", "c"]).inspect();
    equal(found.holders.map(({ token, label }) => [token, label]), [[both.token, "cart 7"], [one.token, null]]);
    equal(found.fence, one.fence);
    await both.release();
    await one.release();
  },

  async a_forced_release_frees_all_names(stack) {
    const both = await take(all(stack, ["b", "c"]));
    equal(await all(stack, ["a", "b", "c"]).forceRelease(), true);
    await fails("lost", both.renew());
    equal([await areFree(stack), await all(stack, ["a", "b"]).forceRelease()], [true, false]);
  },

  async callers_of_crossing_names_never_share_one_and_all_get_their_turn(stack) {
    const inside = new Set<string>();
    const turns = 4;
    const sets = [["a", "b"], ["b", "a"], ["b", "c"], ["c", "a"], ["a"], ["c", "b", "a"]];
    const caller = async (names: readonly string[]): Promise<void> => {
      const options = { wait: LONG, maxRequests: 10_000 };
      const lock = names.length === 1 ? stack.lock("a", options) : all(stack, names, options);
      for (let turn = 0; turn < turns; turn++) {
        const lease = await lock.acquire();
        check(!names.some((name) => inside.has(name)), "a name has one holder");
        for (const name of names) inside.add(name);
        await sleep(1);
        for (const name of names) inside.delete(name);
        await lease.commit(incr(stack));
      }
    };
    await Promise.all(sets.map(caller));
    equal(Number(await stack.redis("GET ~n")), turns * sets.length);
    equal(await areFree(stack), true);
  },

  async what_cannot_be_one_is_refused(stack) {
    const client = stack.client();
    for (const odd of [undefined, null, 7, {}, "ab", [7], [null]]) await fails("invalid_argument", () => client.lockAll(odd as never));
    await fails("invalid_argument", () => client.lockAll(["a"], { signalList: "b" } as LockAllOptions));
    const many = Array.from({ length: 33 }, (_, number) => `${number}`);
    for (const wrong of [[], many, ["a", "b", "a"], ["a", ""], ["a", "}"]]) {
      await fails("invalid_argument", async () => new Client({ url: "http://127.0.0.1:1", credential: "x" }).lockAll(wrong).tryAcquire());
    }
    const group = new GroupCommit<number, number>({ reads: () => [], decide: (answer) => ({ answer }) });
    await fails("invalid_argument", group.submit(client.lockAll(["a", "b"]), 7));
  },
};
