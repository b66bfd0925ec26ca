// The promises of debounces. They are those of tests/it/debounce.rs, with the same names.
import type { Debounce, DebounceOutcome } from "edgelock";
import { check, equal, eventually, Network, never, type Stack, type Suite, thrown, Work } from "./harness.js";

const SUPERSEDED: DebounceOutcome<number> = { superseded: true };

/** Longer than any host needs from one call to the next. */
const LONG = 4_000;

const known = async (stack: Stack): Promise<number> => ((await stack.redis(`KEYS {${stack.mark}a}:receipt:*`)) as unknown[]).length;
const debounce = (stack: Stack, wait: number, network: object = {}): Debounce => stack.client(network).debounce("a", wait);
const executed = (value: number): DebounceOutcome<number> => ({ superseded: false, value });

/** Makes one more call, and waits until Redis has it. */
async function arrive(stack: Stack, wait: number, work: Work): Promise<Promise<DebounceOutcome<number>>[]> {
  const before = await known(stack);
  const call = debounce(stack, wait).run(work.done);
  await eventually(async () => (await known(stack)) > before);
  return [call];
}

export const debounces: Suite = {
  async a_call_that_is_alone_waits_and_does_the_work_in_two_requests(stack) {
    const [network, work, began] = [new Network(), new Work(), Date.now()];
    const ours = debounce(stack, 30, network);
    for (const times of [1, 2]) {
      equal(await ours.run(work.done), executed(times));
      equal(network.seen.length, 2 * times);
    }
    // Hosts round their clocks.
    check(Date.now() - began >= 58, "it waits");
    const why = new Error("no work");
    equal((await thrown(ours.run(() => Promise.reject(why)))) === why, true);
  },

  async of_calls_that_come_close_together_only_the_last_does_the_work(stack) {
    const work = new Work();
    const calls = [];
    for (let count = 0; count < 3; count++) calls.push(...(await arrive(stack, LONG, work)));
    equal(await Promise.all(calls), [SUPERSEDED, SUPERSEDED, executed(1)]);
    equal(await debounce(stack, 5).run(work.done), executed(2));
  },

  async a_call_that_was_dropped_while_it_arrives_overtakes_nobody(stack) {
    const [network, controller, work] = [new Network("hang"), new AbortController(), new Work()];
    const call = debounce(stack, LONG, network).run(never, { signal: controller.signal });
    await eventually(() => network.seen.length === 1);
    controller.abort(new Error("enough"));
    equal(((await thrown(call)) as Error).message, "enough");
    // It tells Redis that it no longer waits.
    await eventually(async () => (await known(stack)) === 1);
    equal(await debounce(stack, 5).run(work.done), executed(1));
    // The signal ends the wait, but not the work.
    const later = new AbortController();
    const waiting = debounce(stack, LONG).run(never, { signal: later.signal });
    waiting.catch(() => {});
    await eventually(async () => (await known(stack)) === 3);
    later.abort(new Error("later"));
    equal(((await thrown(waiting)) as Error).message, "later");
    const during = new AbortController();
    const abort = () => (during.abort(), work.done());
    equal(await stack.client().debounce("b", 5).run(abort, { signal: during.signal }), executed(2));
  },
};
