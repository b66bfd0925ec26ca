// The promises of semaphores. They are those of tests/it/semaphore.rs, with the same names.
import { type Client, HeldError, type Lock, type SemaphoreOptions } from "edgelock";
import { check, equal, fails, releaseAll, type Stack, type Suite, take } from "./harness.js";

const semaphore = (client: Client, permits: number, options: SemaphoreOptions = {}): Lock => client.semaphore("a", permits, options);
const permits = async (stack: Stack): Promise<number> => Number(await stack.redis("ZCARD ~a"));

export const semaphores: Suite = {
  async as_many_hold_it_at_once_as_there_are_permits(stack) {
    const first = await take(semaphore(stack.client(), 3, { ttl: 8_000, label: "first" }));
    const three = semaphore(stack.client(), 3);
    const [second, third] = [await take(three), await take(three)];
    equal(await permits(stack), 3);
    equal(await three.tryAcquire(), null);
    const held = await fails("held", semaphore(stack.client(), 3, { wait: 0 }).acquire());
    check(held instanceof HeldError && held.remaining !== null && held.remaining <= 8_000, "until the first of them ends");
    equal((held as HeldError).label, "first");
    await second.release();
    await releaseAll(await take(three), first, third);
    equal(await permits(stack), 0);
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
};
