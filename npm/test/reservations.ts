// The promises of reservations. They are those of tests/it/reservations.rs, with the same names.
import { type Command, type Lock, ReservationError } from "edgelock";
import { check, equal, fails, type Stack, type Suite, take } from "./harness.js";

const reserving = (stack: Stack): Lock => stack.client().reservations("a", 2);
const sell = (stack: Stack): Command[] => [["INCR", { key: `${stack.mark}n` }]];

/** How many units are free, reserved and confirmed. */
async function sale(stack: Stack): Promise<(number | null)[]> {
  const { free, holders, confirmed } = await reserving(stack).inspect();
  return [free, holders.length, confirmed];
}

export const reservations: Suite = {
  async a_unit_is_reserved_and_then_confirmed_or_given_back(stack) {
    const two = reserving(stack);
    const [one, other] = [await take(two), await take(two)];
    check(one.remaining > 500_000 && other.fence > one.fence, "each has its own");
    equal(await one.commit(sell(stack)), [1]);
    equal(await sale(stack), [0, 1, 1]);
    await other.release();
    equal(await sale(stack), [1, 0, 1]);
  },

  async while_all_is_reserved_it_is_held_and_then_it_is_sold_out(stack) {
    const two = reserving(stack);
    const leases = [await take(two), await take(two)];
    // By default it does not wait.
    equal((await fails("held", two.acquire())).requests, 1);
    // A commit without commands confirms too.
    for (const lease of leases) await lease.commit([]);
    const error = await fails("sold_out", two.acquire());
    check(error instanceof ReservationError && !error.isRetryable && !error.isOutcomeUnknown, "it is known, and lasts");
    await fails("sold_out", two.tryAcquire());
  },
};
