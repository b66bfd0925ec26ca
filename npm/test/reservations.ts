// The promises of reservations. They are those of tests/it/reservations.rs, with the same names.
import { type Client, type Command, HeldError, type Lock, type ReservationOptions } from "edgelock";
import { check, equal, fails, type Stack, type Suite, take } from "./harness.js";

const reserving = (client: Client, units: number, options: ReservationOptions = {}): Lock => client.reservations("a", units, options);
const sell = (stack: Stack): Command[] => [["INCR", { key: `${stack.mark}n` }]];

/** How many units are free, reserved and confirmed. */
async function sale(stack: Stack, units: number): Promise<(number | null)[]> {
  const { free, holders, confirmed } = await reserving(stack.client(), units).inspect();
  return [free, holders.reduce((sum, { count }) => sum + Number(count), 0), confirmed];
}

export const reservations: Suite = {
  async a_unit_is_reserved_and_then_confirmed_or_given_back(stack) {
    const two = reserving(stack.client(), 2);
    const [one, other] = [await take(two), await take(two)];
    check(one.remaining > 500_000 && other.fence > one.fence, "each has its own");
    equal(await sale(stack, 2), [0, 2, 0]);
    equal(await one.commit(sell(stack)), [1]);
    equal(await sale(stack, 2), [0, 1, 1]);
    await other.release();
    equal(await sale(stack, 2), [1, 0, 1]);
    // A commit without commands confirms too.
    await (await take(two)).commit([]);
    equal(await sale(stack, 2), [0, 0, 2]);
  },

  async while_all_is_reserved_it_is_held_and_then_it_is_sold_out(stack) {
    const one = reserving(stack.client(), 1);
    const lease = await take(one);
    equal(await one.tryAcquire(), null);
    const held = await fails("held", one.acquire());
    check(held instanceof HeldError && held.remaining !== null && held.remaining <= 600_000 && held.requests === 1, "at once");
    await lease.commit(sell(stack));
    const error = await fails("sold_out", one.acquire());
    check(!error.isRetryable && !error.isOutcomeUnknown, "it is known, and lasts");
    await fails("sold_out", one.tryAcquire());
  },

  async inspection_says_how_many_units_are_free_reserved_and_confirmed(stack) {
    const client = stack.client();
    const lease = await take(reserving(client, 9, { owner: { id: "ann, 7", most: 5 }, weight: 4 }));
    const found = await reserving(client, 9).inspect();
    equal([found.free, found.confirmed], [5, 0]);
    equal(found.holders.map(({ label, count }) => [label, count]), [["ann, 7", 4]]);
    equal((await client.lock("b").inspect()).confirmed, null);
    await lease.release();
  },

  async what_cannot_be_reserved_is_refused(stack) {
    const client = stack.client();
    for (const odd of [{ id: "", most: 1 }, { id: "ann", most: 0 }, { id: "ann" }, { id: 7, most: 1 }, { most: 1 }, "ann", null, { id: "ann", most: 1, least: 0 }]) {
      await fails("invalid_argument", async () => reserving(client, 3, { owner: odd } as never).tryAcquire());
    }
  },
};
