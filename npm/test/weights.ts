// The promises of semaphores of which one holder has several permits. They are those of
// tests/it/weights.rs, with the same names.
import type { Client, Lock } from "edgelock";
import { equal, type Stack, type Suite, take } from "./harness.js";

const weighing = (client: Client, permits: number, weight: number): Lock => client.semaphore("a", permits, { weight });
const free = async (stack: Stack, permits: number): Promise<number | null> => (await stack.client().semaphore("a", permits).inspect()).free;

export const weights: Suite = {
  async a_holder_has_all_its_permits_or_none(stack) {
    const client = stack.client();
    const heavy = await take(weighing(client, 5, 3));
    equal(await free(stack, 5), 2);
    equal(await weighing(client, 5, 3).tryAcquire(), null);
    const light = await take(weighing(client, 5, 2));
    equal(await client.semaphore("a", 5).tryAcquire(), null);
    equal((await client.semaphore("a", 5).inspect()).holders.map(({ count }) => count), [3, 2]);
    await client.semaphore("a", 5).resume(heavy.handOver()).release();
    equal(await free(stack, 5), 3);
    await light.release();
    equal(await free(stack, 5), 5);
  },
};
