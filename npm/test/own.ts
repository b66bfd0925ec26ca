// What only some kinds and calls promise. The promises are those of the files of tests/it, with the
// same names.
import { type Client, type Command, type Debounce, type DebounceOutcome, type Lock, ReservationError } from "edgelock";
import { check, equal, eventually, fails, Network, never, releaseAll, type Stack, type Suite, take, thrown, Work } from "./harness.js";

/** A window that no test sits out. */
const WINDOW = 600_000;

/** Longer than any host needs from one call to the next. */
const LONG = 4_000;

const isClosed = async (stack: Stack): Promise<boolean> => (await stack.redis(`EXISTS {${stack.mark}a}:throttle`)) === 1;
const known = async (stack: Stack): Promise<number> => ((await stack.redis(`KEYS {${stack.mark}a}:receipt:*`)) as unknown[]).length;
const debounce = (stack: Stack, wait: number, network: object = {}): Debounce => stack.client(network).debounce("a", wait);
const SUPERSEDED: DebounceOutcome<number> = { superseded: true };
const executed = (value: number): DebounceOutcome<number> => ({ superseded: false, value });
const taking = (client: Client): Lock => client.lock("a", { takeOver: true });

/** Makes one more debounced call, and waits until Redis has it. */
async function arrive(stack: Stack, wait: number, work: Work): Promise<Promise<DebounceOutcome<number>>[]> {
  const before = await known(stack);
  const call = debounce(stack, wait).run(work.done);
  await eventually(async () => (await known(stack)) > before);
  return [call];
}

export const own: Suite = {
  async a_writer_goes_down_to_a_reader_in_the_same_hold(stack) {
    const readWrite = stack.client().readWrite("a");
    const lease = await take(readWrite.write({ ttl: 60_000 }));
    const { fence, token } = lease;
    await stack.redis("PEXPIRE ~a 5000");
    await lease.downgrade();
    equal([lease.fence, lease.token], [fence, token]);
    check(lease.remaining > 50_000, "it is renewed by it");
    await releaseAll(await take(readWrite.read()));
    const resumed = readWrite.read().resume(lease.handOver());
    equal(await resumed.commit([["INCR", { key: `${stack.mark}n` }]]), [1]);
    const lost = await take(readWrite.write());
    await stack.redis("DEL ~a");
    await fails("lost", lost.downgrade());
    check(lost.signal.aborted, "it is told");
  },

  async a_call_that_was_given_up_gives_its_pass_back(stack) {
    const [network, controller] = [new Network("withhold the answer"), new AbortController()];
    const call = stack.client(network).throttle("a", WINDOW).tryPass({ signal: controller.signal });
    await eventually(() => isClosed(stack));
    const why = new Error("enough");
    controller.abort(why);
    equal((await thrown(call)) === why, true);
    await eventually(async () => !(await isClosed(stack)));
    equal(await stack.client().throttle("a", WINDOW).tryPass(), { passed: true });
  },

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

export const ownOfRedis: Suite = {
  async while_all_is_reserved_it_is_held_and_then_it_is_sold_out(stack) {
    const two = stack.client().reservations("a", 2);
    const leases = [await take(two), await take(two)];
    // By default it does not wait.
    equal((await fails("held", two.acquire())).requests, 1);
    // A commit without commands confirms too.
    for (const lease of leases) await lease.commit([]);
    const error = await fails("sold_out", two.acquire());
    check(error instanceof ReservationError && !error.isRetryable && !error.isOutcomeUnknown, "it is known, and lasts");
    await fails("sold_out", two.tryAcquire());
  },

  async whoever_takes_a_lock_over_has_it_and_the_old_holder_writes_no_more(stack) {
    const old = await take(stack.lock("a", { ttl: 60_000 }));
    const lease = await take(taking(stack.client()));
    check(lease.fence > old.fence, "fences grow");
    equal(await stack.redis("GET ~a"), lease.token);
    const write: Command[] = [["INCR", { key: `${stack.mark}n` }]];
    await fails("lost", old.exec(write));
    check(old.signal.aborted, "it is told");
    await fails("lost", stack.lock("a").resume(old.token).commit(write));
    await lease.commit(write);
    equal(await stack.redis("GET ~n"), "1");
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async a_holder_that_listens_is_stopped_at_once(stack) {
    for (const takes of [true, false]) {
      const lock = stack.lock("a", { ttl: 60_000, listen: true });
      const stopped = (signal: AbortSignal) => new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      const working = fails("lost", lock.run(({ signal }) => stopped(signal)));
      await eventually(async () => Number((await stack.redis("PUBSUB NUMSUB {~a}:lost") as unknown[])[1]) === 1);
      const begun = performance.now();
      const lease = takes ? await take(taking(stack.client())) : undefined;
      if (!takes) equal(await stack.lock("a").forceRelease(), true);
      await working;
      check(performance.now() - begun < 15_000, "its next renewal would be later");
      await lease?.release();
    }
  },
};
