// What goes into the module and what comes out of it: what it could not hold, what JSON would lose,
// and which calls may be made again.
import { Client, type Command, EdgelockError } from "edgelock";
import { check, equal, fails, Network, type Suite, take, thrown } from "./harness.js";

/** A host keeps it in a few bytes until somebody reads it. */
const HUGE = "x".repeat(300_000_000);

export const values: Suite = {
  async what_the_module_could_not_hold_is_refused_and_no_lease_is_lost(stack) {
    const network = new Network();
    const client = stack.client(network);
    const { url } = stack.bridge;
    const lease = await client.lock("a").acquire();
    const sent = network.seen.length;
    const key = { key: `${stack.mark}n` };
    const set: Command[] = [["SET", key, HUGE]];
    const get: Command[] = [["GET", { key: HUGE }]];
    const many: Command[] = [["GET", key, ...new Array<string>(1_100_000).fill("")]];
    for (const call of [
      () => lease.exec(set),
      () => lease.commit(set),
      () => lease.exec(get),
      () => lease.exec(many),
      () => client.read(get),
      () => client.lock(HUGE),
      () => new Client({ url, credential: HUGE }),
    ]) {
      const { isOutcomeUnknown } = await fails("invalid_argument", async () => call());
      equal(isOutcomeUnknown, false);
    }
    equal(network.seen.length, sent);
    const large = await fails("result_too_large", client.once("b").run(() => "x".repeat(20_000_000)));
    check(large.message.includes(`has 20000002 bytes, and may have 65536: the work was done`), large.message);
    await lease.renew();
    await lease.release();
  },

  async a_key_is_read_once(stack) {
    let reads = 0;
    const key = { get key() { return ++reads === 1 ? `${stack.mark}n` : undefined; } } as { key: string };
    equal(await stack.client().read([["GET", key]]), [null]);
    equal(reads, 1);
  },

  async work_that_is_no_function_is_refused_before_anything_is_sent(stack) {
    const network = new Network();
    const client = stack.client(network);
    const lease = client.lock("a").resume("a".repeat(22));
    for (const work of [undefined, null, 7, "work", {}, Promise.resolve(7)] as never[]) {
      for (const run of [client.lock("a").run(work), lease.run(work), client.once("a").run(work), client.debounce("a", 1).run(work)]) {
        const { message } = await fails("invalid_argument", run);
        check(message.startsWith("invalid argument: the work is a function, not "), message);
      }
    }
    equal(network.seen.length, 0);
  },

  async a_result_that_json_would_lose_is_refused_and_what_it_keeps_is_not(stack) {
    class Hidden {
      readonly #secret = 7;
      get secret(): number {
        return this.#secret;
      }
    }
    class Order {
      readonly id = 7;
    }
    const once = stack.client().once("a");
    const lost: readonly (readonly [value: unknown, what: string])[] = [
      [new Map([[1, 2]]), "a Map"],
      [new Set([1]), "a Set"],
      [new Response("x"), "a Response"],
      [/x/, "a RegExp"],
      [new Error("x"), "a Error"],
      [new Uint8Array(2), "a Uint8Array"],
      [new ArrayBuffer(2), "a ArrayBuffer"],
      // As Node's Buffer, which says of itself what it is.
      [Object.assign(new Uint8Array(2), { toJSON: () => ({ type: "Buffer", data: [0, 0] }) }), "a Uint8Array"],
      [new Date(NaN), "an invalid Date"],
      [Promise.resolve().then, "a function"],
      [Symbol("x"), "a symbol"],
      [NaN, "NaN"],
      [-Infinity, "-Infinity"],
      [new Hidden(), "an object without properties of its own"],
    ];
    for (const [value, what] of lost) {
      for (const result of [value, { deep: [value] }]) {
        const { message, isOutcomeUnknown } = await fails("result_unreadable", once.run(() => result));
        equal(message, `the result of "${stack.mark}a": the work was done, but JSON would lose ${what} in it, so it is not kept`);
        equal([isOutcomeUnknown, await stack.redis(`EXISTS {${stack.mark}a}:result ~a`)], [false, 0]);
      }
    }
    const at = new Date(0);
    const kept = { at, url: new URL("http://a/"), order: new Order(), bare: Object.assign(Object.create(null), { n: 1 }), boxed: Object("x"), none: undefined, list: [undefined, null] };
    equal(await once.run(() => kept), { value: kept, replayed: false });
    equal(await once.run(() => 1), { value: JSON.parse(JSON.stringify(kept)), replayed: true });
    for (const [name, nothing] of [["b", undefined], ["c", null]] as const) {
      for (const replayed of [false, true]) equal(await stack.client().once(name).run(() => nothing), { value: nothing, replayed });
    }
  },

  async a_call_may_be_made_again_unless_a_write_may_have_been_executed(stack) {
    // What the module says of its failures, as tests/it/errors.rs has them.
    const away = stack.client({ fetch: () => Promise.reject(new TypeError("lost")), maxAttempts: 1 }).lock("a");
    await isRetryable(away.inspect(), true);
    await isRetryable(away.resume("a".repeat(22)).exec([["INCR", { key: "n" }]]), false);
    // What this side says of its own.
    const lock = stack.lock("a", { wait: 0 });
    const lease = await take(lock);
    await isRetryable(lock.acquire(), true);
    const [, second] = await Promise.allSettled([lease.exec([]), lease.exec([])]);
    await isRetryable(Promise.reject((second as PromiseRejectedResult).reason), true);
    await isRetryable(lock.run(undefined as never), false);
    await lease.release();
    await isRetryable(lease.renew(), false);
    await stack.redis("SET ~b 5");
    await isRetryable(stack.lock("b", { wait: 0 }).acquire(), false);
  },
};

async function isRetryable(call: Promise<unknown>, expected: boolean): Promise<void> {
  const error = await thrown(call);
  check(error instanceof EdgelockError, `${error} is ours`);
  check(error.isRetryable === expected, `${error.code}, ${error.message}: ${error.isRetryable}`);
}
