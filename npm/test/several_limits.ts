// The promises of several limits in one lease. They are those of tests/it/limits.rs, with the same
// names.
import type { HeldError, LimitsOptions, Lock } from "edgelock";
import { check, equal, eventually, fails, type Stack, type Suite, take } from "./harness.js";

const LONG = 40_000;
/** One of the permit of `a`, and so many of the three of `b`. */
const limited = (stack: Stack, permits: number, options: LimitsOptions = {}): Lock => stack.client().limits([{ name: "a", limit: 1 }, { name: "b", limit: 3, permits }], options);
const held = (stack: Stack): Promise<unknown[]> => Promise.all([stack.redis("ZCARD ~a"), stack.redis("ZCARD ~b")]);

export const severalLimits: Suite = {
  async all_limits_are_taken_under_one_fence_or_none(stack) {
    const lease = await take(limited(stack, 2));
    for (const name of ["a", "b"]) equal((await stack.client().semaphore(name, 3).inspect()).fence, lease.fence);
    const error = (await fails("held", limited(stack, 1, { wait: 0 }).acquire())) as HeldError;
    equal(error.lock, `${stack.mark}a`);
    const one = await take(stack.client().semaphore("b", 3));
    await lease.release();
    equal(await limited(stack, 3).tryAcquire(), null);
    equal(await held(stack), [0, 1]);
    const next = await take(limited(stack, 2));
    check(next.fence > one.fence, "a higher fence");
    await next.release();
    await one.release();
  },

  async permits_of_a_semaphore_and_of_limits_count_together(stack) {
    const plain = stack.client().semaphore("b", 3);
    const lease = await take(limited(stack, 2));
    equal((await plain.inspect()).free, 1);
    const one = await take(plain);
    equal(await plain.tryAcquire(), null);
    await lease.renew();
    await lease.release();
    const two = await take(stack.client().semaphore("b", 3, { weight: 2 }));
    equal(await limited(stack, 1).tryAcquire(), null);
    await one.release();
    await two.release();
  },

  async a_waiter_has_no_permit_until_it_has_all(stack) {
    const [first, second] = [await take(stack.client().semaphore("a", 1)), await take(stack.client().semaphore("b", 3, { weight: 3 }))];
    const waiting = limited(stack, 2, { wait: LONG, maxRequests: 1_000 }).acquire();
    await eventually(async () => (await stack.waitersFor("a")) === 1);
    await first.release();
    await eventually(async () => (await stack.waitersFor("b")) === 1);
    equal(await held(stack), [0, 1]);
    await second.release();
    const lease = await waiting;
    equal(await held(stack), [1, 1]);
    await lease.release();
  },

  async limits_go_on_in_another_handler_by_their_token(stack) {
    const lease = await take(limited(stack, 2, { ttl: 60_000 }));
    const { fence } = lease;
    const resumed = stack.client().limits([{ name: "b", limit: 9 }, { name: "a", limit: 9 }]).resume(lease.handOver());
    await resumed.renew();
    check(resumed.remaining > 50_000, "its own ttl");
    equal(resumed.fence, fence);
    await resumed.commit([["INCR", { key: `${stack.mark}n` }]]);
    equal(await held(stack), [0, 0]);
  },

  async inspection_lists_who_holds_permits_and_says_how_many_more_there_is_room_for(stack) {
    const lease = await take(limited(stack, 1, { label: "me" }));
    const found = await stack.client().limits([{ name: "a", limit: 5 }, { name: "b", limit: 3 }]).inspect();
    equal([found.holders.length, found.holder?.label, found.free, found.waiters], [1, "me", 2, 0]);
    await lease.release();
  },

  async a_forced_release_frees_all_limits(stack) {
    const lease = await take(limited(stack, 1));
    equal(await limited(stack, 1).forceRelease(), true);
    equal(await held(stack), [0, 0]);
    await fails("lost", lease.release());
  },

  async limits_that_cannot_be_are_refused_and_nothing_is_sent(stack) {
    const client = stack.client();
    const a = { name: "a", limit: 3 };
    for (const wrong of [[], [a, a], [{ ...a, permits: 4 }], [{ ...a, permits: 0 }], [{ ...a, limit: 0 }], [{ name: "a" }], [{ ...a, weight: 1 }], ["a"], "a", null]) {
      await fails("invalid_argument", async () => client.limits(wrong as never).tryAcquire());
    }
    for (const options of [{ fair: true }, { weight: 2 }, { signalList: "s" }, { takeOver: true }]) {
      await fails("invalid_argument", () => client.limits([a], options as never));
    }
  },
};
