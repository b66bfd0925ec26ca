// The promises of several limits in one lease. They are those of tests/it/limits.rs, with the same
// names.
import type { HeldError, LimitsOptions, Lock } from "edgelock";
import { check, equal, fails, type Stack, type Suite, take } from "./harness.js";

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

  async inspection_lists_who_holds_permits_and_says_how_many_more_there_is_room_for(stack) {
    const lease = await take(limited(stack, 1, { label: "me" }));
    const found = await stack.client().limits([{ name: "a", limit: 5 }, { name: "b", limit: 3 }]).inspect();
    equal([found.holders.length, found.holder?.label, found.free, found.waiters], [1, "me", 2, 0]);
    await lease.release();
  },

  async limits_that_cannot_be_are_refused_and_nothing_is_sent(stack) {
    const client = stack.client();
    const a = { name: "a", limit: 3 };
    for (const wrong of [[], [a, a], [{ ...a, permits: 4 }], [{ ...a, permits: 0 }], [{ ...a, limit: 0 }], [{ name: "a" }], [{ ...a, weight: 1 }], ["a"], "a", null]) {
      await fails("invalid_argument", async () => client.limits(wrong as never).tryAcquire());
    }
  },
};
