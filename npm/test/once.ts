// The promises of work that is executed once. They are those of tests/it/once.rs, with the same
// names.
import { type FetchInit, type LockEvent, type OnceOutcome, ResultError } from "edgelock";
import { check, equal, eventually, fails, Network, never, type Stack, type Suite, thrown, Work } from "./harness.js";

const LONG = 40_000;
const DAY = 24 * 60 * 60 * 1_000;

const charge = (stack: Stack, work: Work): Promise<OnceOutcome<number>> => stack.client().once("a", { wait: LONG }).run(work.done);
const kept = (stack: Stack): Promise<unknown> => stack.redis(`GET {${stack.mark}a}:result`);
const isHeld = async (stack: Stack): Promise<boolean> => (await stack.redis("EXISTS ~a")) === 1;

/** Starts work that goes on until `end` is called. */
function begin(stack: Stack): { readonly end: (error?: Error) => void; readonly first: Promise<OnceOutcome<number>> } {
  let end!: (error?: Error) => void;
  const ended = new Promise<number>((resolve, reject) => (end = (error) => (error ? reject(error) : resolve(7))));
  // The work may not have begun when it is told to fail.
  ended.catch(() => {});
  return { end, first: stack.client().once("a").run(() => ended) };
}

export const onces: Suite = {
  async the_first_does_the_work_in_two_requests_and_the_next_has_its_result_in_one(stack) {
    const [network, work, events] = [new Network(), new Work(), [] as string[]];
    const client = stack.client({ ...network, onEvent: ({ type }: LockEvent) => void events.push(type) });
    equal(await client.once("a").run(work.done), { value: 1, replayed: false });
    equal([network.seen.length, await isHeld(stack)], [2, false]);
    for (const requests of [3, 4]) {
      equal(await client.once("a").run(never), { value: 1, replayed: true });
      equal(network.seen.length, requests);
    }
    equal([work.count, events], [1, ["acquired", "released", "replayed", "replayed"]]);
    equal(await client.once("b", { keep: 90_000 }).run(work.done), { value: 2, replayed: false });
    const left = Number(await stack.redis(`PTTL {${stack.mark}b}:result`));
    check(left > 60_000 && left <= 90_000, `${left} are left`);
    equal([await client.once("b").forget(), await client.once("b").forget()], [true, false]);
  },

  async a_result_arrives_as_it_is(stack) {
    const values: unknown[] = [undefined, null, 0, "", " two  words ", "line\r\n\t%20%\\\"'/\u0000", "ü€😀\u007f\u2028", "\ud800", { a: [1.5, { b: false }] }, "é".repeat(32_000)];
    for (const [at, value] of values.entries()) {
      const once = stack.client().once(`v${at}`);
      equal(await once.run(() => value), { value, replayed: false });
      equal(await once.run(never), { value, replayed: true });
    }
  },

  async work_that_fails_keeps_nothing_and_the_next_does_it(stack) {
    const { end, first } = begin(stack);
    await eventually(() => isHeld(stack));
    const work = new Work();
    const waiter = charge(stack, work);
    const why = new Error("no work");
    end(why);
    equal((await thrown(first)) === why, true);
    equal([await waiter, await charge(stack, work)], [{ value: 1, replayed: false }, { value: 1, replayed: true }]);
  },

  async without_redis_the_work_is_done_only_if_it_is_to_run_then(stack) {
    let isAway = true;
    const fetch = (url: string, init: FetchInit) => (isAway ? Promise.reject(new TypeError("away")) : globalThis.fetch(url, init));
    const client = stack.client({ fetch });
    await fails("unavailable", client.once("a", { wait: 20 }).run(never));
    const once = client.once("a", { wait: 20, ifUnavailable: "run" });
    const alone = await once.run((lease) => lease ?? "no lease");
    equal([alone.value, alone.replayed, alone.notKept?.code], ["no lease", false, "unavailable"]);
    equal(await thrown(once.run(() => Promise.reject("the work's own"))), "the work's own");
    // Redis goes while the work is done: what was done is not lost, and not kept.
    isAway = false;
    const left = await once.run((lease) => {
      isAway = true;
      return lease?.token.length;
    });
    equal([left.value, left.notKept?.code], [22, "unavailable"]);
    isAway = false;
    await stack.redis("DEL ~a");
    equal([await once.run(() => 1), await once.run(() => 2)], [{ value: 1, replayed: false }, { value: 1, replayed: true }]);
    await fails("invalid_argument", async () => client.once("a", { ifUnavailable: "maybe" as "run" }));
  },

  async a_copy_is_fresh_then_stale_and_one_renews_it(stack) {
    const network = new Network();
    const cached = stack.client({ ...network }).cached("a", { fresh: 60_000, stale: 600_000, ttl: LONG });
    equal([await cached.get(() => 1), await cached.get(never), network.seen.length], [1, 1, 3]);
    // Its last ten minutes begin.
    const grow_stale = () => stack.redis(`PEXPIRE {${stack.mark}a}:result 500000`);
    await grow_stale();
    let refill!: (value: number) => void;
    const renewed = cached.get(() => new Promise<number>((resolve) => (refill = resolve)));
    await eventually(async () => refill !== undefined);
    equal([await cached.get(never), network.seen.length], [1, 5]);
    refill(2);
    equal([await renewed, await cached.get(never), network.seen.length], [2, 2, 7]);
    // A refill that fails leaves the copy, if there is one.
    await grow_stale();
    equal([await cached.get(() => Promise.reject("no")), await cached.get(() => 3)], [2, 3]);
    equal([await cached.forget(), await thrown(cached.get(() => Promise.reject("no")))], [true, "no"]);
    for (const times of [{ fresh: 0, stale: 1 }, { fresh: 1, stale: 0 }, { fresh: 366 * DAY, stale: 1 }]) {
      await fails("invalid_argument", async () => stack.client().cached("a", times).get(never));
    }
  },

  async a_result_over_the_bound_is_refused_and_not_kept(stack) {
    const text = (bytes: number) => () => "x".repeat(bytes - 2);
    const error = await fails("result_too_large", stack.client().once("a").run(text(65_537)));
    check(error instanceof ResultError && !error.isOutcomeUnknown, "it has its class");
    equal([error.bytes, error.most, error.lock], [65_537, 65_536, `${stack.mark}a`]);
    equal([await isHeld(stack), await kept(stack)], [false, null]);
    await fails("result_too_large", stack.client().once("a", { maxBytes: 4 }).run(text(5)));
    // The limit is in bytes.
    await fails("result_too_large", stack.client().once("a", { maxBytes: 3 }).run(() => "ü"));
    equal(await stack.client().once("a", { maxBytes: 4 }).run(() => "ü"), { value: "ü", replayed: false });
    const large = stack.client().once("b", { maxBytes: 262_144 });
    await large.run(text(262_144));
    equal((await large.run(never) as OnceOutcome<string>).value.length, 262_142);
    for (const odd of [{ keep: 0 }, { fingerprint: "" }, { maxBytes: 262_145 }, { ttl: 3 }]) {
      await fails("invalid_argument", () => stack.client().once("a", odd));
    }
  },

  async a_result_that_is_something_else_is_told_and_the_work_is_not_done(stack) {
    const text = ["SET", `{${stack.mark}a}:result`, " no JSON"];
    await stack.client().lock("other").acquire().then((lease) => lease.commit([["SET", { key: text[1]! }, text[2]!]]));
    const kept = await fails("result_unreadable", stack.client().once("a").run(never));
    check(kept instanceof ResultError, "it has its class");
    equal(kept.message, `the result of "${stack.mark}a": what is kept is no JSON, so another program stored it`);
    const round: { self?: unknown } = {};
    round.self = round;
    for (const value of [round, 7n]) {
      const { message } = await fails("result_unreadable", stack.client().once("b").run(() => value));
      equal(message, `the result of "${stack.mark}b": the work was done, but it cannot be written as JSON, so it is not kept`);
    }
    equal(await stack.redis("EXISTS ~b"), 0);
  },

  async work_that_gives_the_lock_back_itself_keeps_no_result(stack) {
    await fails("released", stack.client().once("a").run((lease) => lease.release()));
    equal(await kept(stack), null);
    const { value } = await stack.client().once("a").run(async (lease) => {
      await lease.exec([["INCR", { key: `${stack.mark}n` }]]);
      return lease.fence;
    });
    equal([value > 0, await stack.redis("GET ~n")], [true, "1"]);
  },
};
