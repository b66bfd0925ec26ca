// Turns that nobody competes with: one request each, without the lock. The promises are those of
// tests/it/group/guessed.rs, with the same names.
import { type Command, type Decision, EdgelockError, GroupCommit, type Reply } from "edgelock";
import { check, equal, eventually, Network, type Stack, type Suite, take, thrown } from "./harness.js";

/** Sells what is in `stock`, and says what is left behind an order. */
class Stock {
  readonly usesFence = false;

  constructor(readonly mark: string) {}

  reads(order: number): Command[] {
    return [["GET", { key: `${this.mark}stock` }], ["HGET", { key: `${this.mark}orders` }, order]];
  }

  begin(): { left?: number } {
    return {};
  }

  decide(order: number, [stock, known]: readonly Reply[], turn: { left?: number }, fence: number): Decision<number | null> {
    equal(fence, 0);
    if (typeof known === "string") return { answer: Number(known) };
    turn.left ??= Number(stock);
    if (turn.left === 0) return { answer: null };
    const left = --turn.left;
    const [of, orders, log] = ["stock", "orders", "log"].map((name) => ({ key: `${this.mark}${name}` })) as [{ key: string }, { key: string }, { key: string }];
    return { answer: left, writes: [["SET", of, left], ["HSET", orders, order, left], ["RPUSH", log, order]] };
  }
}

/** A sale of so many, of which one is sold: so its process knows what is left. */
async function begun(stack: Stack, network: Network, units = 100, settings = {}) {
  await stack.redis(`SET ~stock ${units}`);
  const lock = stack.client({ fetch: network.fetch, ...settings }).lock("a");
  const sale = new GroupCommit(new Stock(stack.mark));
  equal(await sale.submit(lock, 0), units - 1);
  return { lock, sale };
}

const log = (stack: Stack) => stack.redis("LRANGE ~log 0 -1");

const isFree = async (stack: Stack) => (await stack.redis("EXISTS ~a")) === 0;

export const guessed: Suite = {
  async a_turn_that_nobody_competes_with_is_one_request(stack) {
    const network = new Network();
    const { lock, sale } = await begun(stack, network, 3);
    equal(network.seen.length, 2);
    for (const [order, left] of [[1, 1], [2, 0], [3, null], [4, null]] as const) equal(await sale.submit(lock, order), left);
    equal(network.seen.length, 6);
    equal(await log(stack), ["0", "1", "2"]);
    check(await isFree(stack), "nothing is left");
  },

  async a_turn_of_several_items_that_nobody_competes_with_is_one_request(stack) {
    const network = new Network();
    const { lock, sale } = await begun(stack, network);
    const orders = Array.from({ length: 20 }, (_, at) => at + 1);
    equal(await Promise.all(orders.map((order) => sale.submit(lock, order))), orders.map((order) => 99 - order));
    equal(network.seen.length, 3);
    equal(await log(stack), [0, ...orders].map(String));
  },

  async a_turn_that_expects_something_else_takes_the_lock_and_decides_anew(stack) {
    const network = new Network();
    const { lock, sale } = await begun(stack, network);
    await stack.redis("SET ~stock 8");
    equal(await sale.submit(lock, 1), 7);
    equal(network.seen.length, 4);
    // An order that is on record, though the process does not know it.
    await stack.redis("HSET ~orders 5 41");
    equal(await sale.submit(lock, 5), 41);
    equal(await log(stack), ["0", "1"]);
    await eventually(() => isFree(stack));
  },

  async a_turn_waits_for_a_holder_and_sees_what_it_wrote(stack) {
    const network = new Network();
    const { lock, sale } = await begun(stack, network);
    const held = await take(stack.lock("a"));
    const order = sale.submit(lock, 1);
    // Twice in vain, and then it stands in the queue.
    await eventually(async () => network.seen.length > 4 && (await stack.waitersFor("a")) === 1);
    equal(await log(stack), ["0"]);
    await held.commit([["SET", { key: `${stack.mark}stock` }, 500]]);
    equal(await order, 499);
  },

  async a_turn_whose_reply_or_request_is_lost_is_asked_for_again_and_runs_once(stack) {
    for (const fate of ["lose the answer", "lose the request"] as const) {
      await stack.redis("DEL ~log ~orders");
      const network = new Network("pass", "pass", fate);
      const { lock, sale } = await begun(stack, network);
      equal(await sale.submit(lock, 1), 98);
      equal(network.seen.length, 4);
      equal(await log(stack), ["0", "1"]);
    }
  },

  async a_turn_of_unknown_outcome_is_told_as_unknown_and_leaves_no_lock_behind(stack) {
    for (const expectsRight of [true, false]) {
      await stack.redis("DEL ~log ~orders");
      const { lock, sale } = await begun(stack, new Network("pass", "pass", "lose the answer"), 100, { maxAttempts: 1 });
      if (!expectsRight) await stack.redis("SET ~stock 5");
      const error = await thrown(sale.submit(lock, 1));
      check(error instanceof EdgelockError && error.isOutcomeUnknown, `${error}`);
      await eventually(() => isFree(stack));
      equal(await log(stack), expectsRight ? ["0", "1"] : ["0"]);
      // What this process expected is not expected any more.
      equal(await sale.submit(lock, 2), expectsRight ? 97 : 4);
    }
  },

  async an_item_for_which_nothing_was_to_be_written_is_not_unknown(stack) {
    const { lock, sale } = await begun(stack, new Network("pass", "pass", "pass", "lose the answer"), 2, { maxAttempts: 1 });
    equal(await sale.submit(lock, 1), 0);
    const error = await thrown(sale.submit(lock, 2));
    check(error instanceof EdgelockError && !error.isOutcomeUnknown, `${error}`);
    equal(await sale.submit(lock, 3), null);
  },

  async a_section_that_uses_its_fence_has_turns_of_two_requests(stack) {
    const network = new Network();
    const fences: number[] = [];
    const lock = stack.client({ fetch: network.fetch }).lock("a");
    const decide = (_: number, __: readonly Reply[], ___: undefined, fence: number): Decision<number> => ({ answer: fences.push(fence), writes: [["INCR", { key: `${stack.mark}n` }]] });
    const sale = new GroupCommit({ reads: () => [["GET", { key: `${stack.mark}n` }]] as Command[], decide });
    for (const n of [1, 2, 3]) equal(await sale.submit(lock, n), n);
    equal(network.seen.length, 6);
    check(fences[0]! > 0 && fences[0]! < fences[1]! && fences[1]! < fences[2]!, `${fences}`);
  },
};
