// The promises of semaphores. They are those of tests/it/semaphore.rs, with the same names.
import { type Client, type Command, GroupCommit, HeldError, type Lease, type Lock, type SemaphoreOptions } from "edgelock";
import { check, equal, eventually, fails, Network, sleep, type Stack, type Suite, take } from "./harness.js";

const semaphore = (client: Client, permits: number, options: SemaphoreOptions = {}): Lock => client.semaphore("a", permits, options);
const incr = (stack: Stack): Command[] => [["INCR", { key: `${stack.mark}n` }]];
const permits = async (stack: Stack): Promise<number> => Number(await stack.redis("ZCARD ~a"));
/** Until when a permit is held, in Redis's milliseconds. */
const until = async (stack: Stack, lease: Lease): Promise<number> => Number(await stack.redis(`ZSCORE ~a ${lease.token}`));
const waiters = async (stack: Stack): Promise<number> => stack.waitersFor("a");
const LONG = 40_000;

async function releaseAll(...leases: readonly Lease[]): Promise<void> {
  for (const lease of leases) await lease.release();
}

export const semaphores: Suite = {
  async a_permit_is_the_token_in_a_sorted_set_until_when_it_ends(stack) {
    const lease = await take(semaphore(stack.client(), 2));
    const [seconds] = (await stack.redis("TIME")) as [string, string];
    const left = (await until(stack, lease)) - Number(seconds) * 1_000;
    check(left > 5_000 && left <= 11_000, `${left} are left`);
    await lease.release();
    equal(await stack.redis("EXISTS ~a"), 0);
    equal(await stack.redis(`EXISTS {${stack.mark}a}:holds`), 0);
  },

  async as_many_hold_it_at_once_as_there_are_permits(stack) {
    const first = await take(semaphore(stack.client(), 3, { ttl: 5_000, label: "first" }));
    const three = semaphore(stack.client(), 3);
    const [second, third] = [await take(three), await take(three)];
    equal(await permits(stack), 3);
    equal(await three.tryAcquire(), null);
    const held = await fails("held", semaphore(stack.client(), 3, { wait: 0 }).acquire());
    check(held instanceof HeldError && held.remaining !== null && held.remaining <= 5_000, "until the first of them ends");
    equal((held as HeldError).label, "first");
    await second.release();
    await releaseAll(await take(three), first, third);
    equal(await permits(stack), 0);
  },

  async each_permit_has_a_fence_and_an_end_of_its_own(stack) {
    const one = await take(semaphore(stack.client(), 2, { ttl: 60_000 }));
    const other = await take(semaphore(stack.client(), 2, { ttl: 20_000 }));
    check(other.fence > one.fence && one.token !== other.token, "each has its own");
    check((await until(stack, one)) > (await until(stack, other)) + 30_000, "each ends by itself");
    const before = await until(stack, one);
    await one.renew({ ttl: 1_000 });
    equal(await until(stack, one), before);
    await other.renew({ ttl: 90_000 });
    check((await until(stack, other)) > before && other.remaining > 80_000, "a renewal is of one");
    await releaseAll(one, other);
  },

  async a_permit_that_ran_out_goes_to_a_waiter(stack) {
    const brief = semaphore(stack.client(), 2, { ttl: 2_000 });
    // The first two never release.
    (await take(brief)).handOver();
    (await take(brief)).handOver();
    await releaseAll(await brief.acquire(), await brief.acquire());
  },

  async a_waiter_gets_the_permit_that_is_released(stack) {
    const two = semaphore(stack.client(), 2, { wait: LONG });
    const [one, other] = [await take(two), await take(two)];
    const waiter = two.acquire();
    await eventually(async () => (await waiters(stack)) === 1);
    await other.release();
    const next = await waiter;
    check(next.fence > other.fence, "it has a fence of its own");
    equal([await permits(stack), await waiters(stack)], [2, 0]);
    await releaseAll(one, next);
  },

  async commands_run_under_a_permit_and_not_behind_it(stack) {
    const two = semaphore(stack.client(), 2);
    const [one, other] = [await take(two), await take(two)];
    equal(await one.exec(incr(stack)), [1]);
    equal(await other.commit(incr(stack)), [2]);
    equal(await permits(stack), 1);
    await stack.redis(`ZREM ~a ${one.token}`);
    await fails("lost", one.exec(incr(stack)));
    equal(await stack.redis("GET ~n"), "2");
  },

  async a_try_that_reads_reads_whether_there_is_a_permit_or_not(stack) {
    await stack.redis("SET ~stock 7");
    const read: Command[] = [["GET", { key: `${stack.mark}stock` }]];
    const one = semaphore(stack.client(), 1);
    const [lease, found] = await one.tryAcquireAndRead(read);
    equal([lease !== null, found], [true, ["7"]]);
    equal(await one.tryAcquireAndRead(read), [null, ["7"]]);
    await lease?.release();
  },

  async a_lost_reply_or_a_repeat_counts_once(stack) {
    const network = new Network("lose the answer", "pass", "lose the answer", "pass", "lose the answer");
    const other = await take(semaphore(stack.client(), 3));
    const lease = await take(semaphore(stack.client(network), 3));
    equal(await permits(stack), 2);
    await lease.exec(incr(stack));
    await lease.release();
    equal([await permits(stack), await stack.redis("GET ~n")], [1, "1"]);
    await other.release();
  },

  async an_acquisition_that_was_given_up_holds_no_permit(stack) {
    const holder = await take(semaphore(stack.client(), 2));
    const client = stack.client({ ...new Network("lose the answer"), maxAttempts: 1 });
    equal((await fails("unavailable", semaphore(client, 2).tryAcquire())).isOutcomeUnknown, true);
    await eventually(async () => (await permits(stack)) === 1);
    await holder.release();
  },

  async a_permit_goes_on_in_another_handler_by_its_token(stack) {
    const lease = await take(semaphore(stack.client(), 2, { ttl: 60_000 }));
    const other = await take(semaphore(stack.client(), 2));
    const fence = lease.fence;
    const resumed = semaphore(stack.client(), 2).resume(lease.handOver());
    equal([resumed.fence, resumed.remaining], [0, 0]);
    await resumed.renew();
    equal(resumed.fence, fence);
    check(resumed.remaining > 50_000, "it is renewed for what it was acquired for");
    equal(await resumed.commit(incr(stack)), [1]);
    equal(await permits(stack), 1);
    await other.release();
  },

  async it_is_kept_while_work_runs_and_given_back_behind_it(stack) {
    let renewals = 0;
    const client = stack.client({ onEvent: ({ type }) => void (renewals += type === "renewed" ? 1 : 0) });
    const done = await semaphore(client, 2, { ttl: 2_000 }).run(async (lease) => {
      // One renewal every third of the ttl.
      await eventually(() => renewals >= 4);
      equal(await permits(stack), 1);
      return lease.remaining > 0;
    });
    equal([done, await permits(stack)], [true, 0]);
  },

  async a_client_that_counts_fewer_permits_takes_none_away_and_waits(stack) {
    const three = semaphore(stack.client(), 3);
    const [one, other] = [await take(three), await take(three)];
    const two = semaphore(stack.client(), 2);
    equal(await two.tryAcquire(), null);
    equal(await permits(stack), 2);
    await other.release();
    const last = await take(two);
    await releaseAll(one, last, await take(three));
  },

  async inspection_lists_the_holders_and_says_how_many_permits_are_free(stack) {
    const three = semaphore(stack.client(), 3);
    const free = await three.inspect();
    equal([free.holder, free.holders, free.free, free.fence], [null, [], 3, null]);
    const one = await take(semaphore(stack.client(), 3, { ttl: 60_000, label: "worker 7" }));
    const other = await take(three);
    const held = await three.inspect();
    equal(held.holders.map(({ token, label }) => [token, label]), [[other.token, null], [one.token, "worker 7"]]);
    equal([held.holder?.token, held.free, held.fence], [other.token, 1, other.fence]);
    // A token can release its permit, so it must not be shown.
    check(!JSON.stringify(held).includes(one.token), "no token shows by itself");
    await releaseAll(one, other);
    const lock = await stack.lock("b").inspect();
    equal([lock.holders, lock.free], [[], null]);
  },

  async a_forced_release_frees_all_permits(stack) {
    const two = semaphore(stack.client(), 2);
    equal(await two.forceRelease(), false);
    const [one, other] = [await take(two), await take(two)];
    equal(await two.forceRelease(), true);
    await fails("lost", one.renew());
    await fails("lost", other.release());
  },

  async a_semaphore_and_a_lock_of_one_name_are_told_apart(stack) {
    const [lock, two] = [stack.lock("a"), semaphore(stack.client(), 2)];
    const held = await take(lock);
    await fails("wrong_type", two.tryAcquire());
    await held.release();
    const permit = await take(two);
    await fails("wrong_type", lock.tryAcquire());
    await permit.release();
  },

  async contenders_are_never_more_than_there_are_permits_and_all_get_their_turn(stack) {
    let [inside, most] = [0, 0];
    const contender = async (): Promise<void> => {
      const three = semaphore(stack.client(), 3, { wait: LONG, maxRequests: 10_000 });
      for (let turn = 0; turn < 5; turn++) {
        const lease = await three.acquire();
        most = Math.max(most, ++inside);
        await sleep(1);
        inside--;
        await lease.commit(incr(stack));
      }
    };
    await Promise.all(Array.from({ length: 8 }, contender));
    check(most <= 3 && inside === 0, `${most} were inside`);
    equal(Number(await stack.redis("GET ~n")), 5 * 8);
  },

  async what_cannot_be_one_is_refused(stack) {
    const client = stack.client();
    for (const odd of [0, -1, 1.5, NaN, Infinity, 2 ** 32, "2", undefined]) {
      await fails("invalid_argument", () => client.semaphore("a", odd as number));
    }
    await fails("invalid_argument", () => client.semaphore("", 1).tryAcquire());
    await fails("invalid_argument", () => client.semaphore("a", 1, { signalList: "b" } as SemaphoreOptions));
    await fails("invalid_argument", () => client.semaphore("a", 1, { tll: 5 } as SemaphoreOptions));
    const group = new GroupCommit<number, number>({ reads: () => [], decide: (answer) => ({ answer }) });
    await fails("invalid_argument", group.submit(client.semaphore("a", 1), 7));
  },
};
