// The promises of reservations. They are those of tests/it/reservations.rs, with the same names.
import { type Client, type Command, HeldError, type Lock, type ReservationOptions } from "edgelock";
import { check, equal, fails, type Stack, type Suite, take } from "./harness.js";

const reserving = (client: Client, units: number, options: ReservationOptions = {}): Lock => client.reservations("a", units, options);
const sell = (stack: Stack): Command[] => [["INCR", { key: `${stack.mark}n` }]];
const sold = async (stack: Stack): Promise<number> => Number(await stack.redis("GET ~n"));

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

  async an_unconfirmed_reservation_falls_back_and_is_confirmed_too_late(stack) {
    const token = (await take(reserving(stack.client(), 1, { ttl: 1_000 }))).handOver();
    const next = await reserving(stack.client(), 1, { wait: 40_000 }).acquire();
    await fails("lost", reserving(stack.client(), 1).resume(token).commit(sell(stack)));
    equal(await sale(stack, 1), [0, 1, 0]);
    await next.commit(sell(stack));
    equal([await sold(stack), ...(await sale(stack, 1))], [1, 0, 0, 1]);
  },

  async a_second_confirmation_is_told_apart_from_one_that_is_too_late(stack) {
    const one = reserving(stack.client(), 1);
    const lease = await take(one);
    const { token } = lease;
    await lease.commit(sell(stack));
    await fails("confirmed", one.resume(token).commit(sell(stack)));
    await fails("confirmed", one.resume(token).renew());
    await fails("confirmed", one.resume(token).release());
    equal([await sold(stack), ...(await sale(stack, 1))], [1, 0, 0, 1]);
  },

  async several_units_are_reserved_and_confirmed_together_or_not_at_all(stack) {
    const three = reserving(stack.client(), 5, { weight: 3 });
    const lease = await take(three);
    equal(await three.tryAcquire(), null);
    await lease.commit(sell(stack));
    equal(await sale(stack, 5), [2, 0, 3]);
  },

  async an_owner_has_no_more_than_its_bound_at_once(stack) {
    const of = (id: string, weight: number) => reserving(stack.client(), 100, { owner: { id, most: 3 }, weight });
    const [two, one] = [await take(of("ann", 2)), await take(of("ann", 1))];
    await fails("owner_limit", of("ann", 1).tryAcquire());
    const other = await take(of("bob", 3));
    await two.commit(sell(stack));
    const again = await take(of("ann", 2));
    await fails("owner_limit", of("ann", 1).tryAcquire());
    await one.release();
    for (const lease of [await take(of("ann", 1)), other, again]) await lease.release();
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

  async a_forced_release_gives_back_what_is_reserved_and_leaves_what_is_confirmed(stack) {
    const three = reserving(stack.client(), 3);
    await (await take(three)).commit([]);
    const lease = await take(three);
    equal(await three.forceRelease(), true);
    await fails("lost", lease.commit(sell(stack)));
    equal(await sale(stack, 3), [2, 0, 1]);
  },

  async named_seats_are_confirmed_together_by_the_token_of_several_names(stack) {
    const hall = `${stack.mark}{hall}`;
    const seats = (): Lock => stack.client().lockAll([`{hall}:4`, `{hall}:5`], { ttl: 600_000 });
    const token = (await take(seats())).handOver();
    equal(await seats().tryAcquire(), null);
    const book = (seat: number): Command => ["SET", { key: `${hall}:${seat}:of` }, "ann"];
    await seats().resume(token).commit([book(4), book(5)]);
    equal(await stack.client().read([["MGET", { key: `${hall}:4:of` }, { key: `${hall}:5:of` }]]), [["ann", "ann"]]);
    await fails("lost", seats().resume(token).commit([book(4)]));
  },

  async what_cannot_be_reserved_is_refused(stack) {
    const client = stack.client();
    for (const odd of [{ id: "", most: 1 }, { id: "ann", most: 0 }, { id: "ann" }, { id: 7, most: 1 }, { most: 1 }, "ann", null, { id: "ann", most: 1, least: 0 }]) {
      await fails("invalid_argument", async () => reserving(client, 3, { owner: odd } as never).tryAcquire());
    }
  },
};
