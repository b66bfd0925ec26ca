// Turns that nobody competes with: one request each, without the lock. The promises are those of
// tests/it/group/guessed.rs, with the same names.
import { type Command, type Decision, EdgelockError, type FetchInit, GroupCommit, type Lock, type LockOptions, type Reply, type Section } from "edgelock";
import { watchTurns } from "./group.js";
import { check, equal, eventually, fails, Network, type Stack, type Suite, take, thrown, withoutBeats } from "./harness.js";

/** What is left behind an order; `null` if it was not sold. */
type Left = number | null;

interface Turn {
  left?: number;
}

/** Sells what is in `stock`, and says what is left. Its turns do not use their fences. */
class Stock implements Section<number, Left, Turn> {
  readonly usesFence: boolean = false;
  readonly #stock: { readonly key: string };
  readonly #orders: { readonly key: string };
  readonly #log: { readonly key: string };
  /** The fences that it got. */
  readonly fences = new Set<number>();

  constructor({ mark }: Stack) {
    [this.#stock, this.#orders, this.#log] = [{ key: `${mark}stock` }, { key: `${mark}orders` }, { key: `${mark}log` }];
  }

  // Own properties, so that a section with other parts is spread from it.
  readonly reads = (number: number): Command[] => [["GET", this.#stock], ["HGET", this.#orders, number]];

  readonly begin = (): Turn => ({});

  readonly decide = (number: number, [stock, known]: readonly Reply[], turn: Turn, fence: number): Decision<Left> => {
    this.fences.add(fence);
    if (typeof known === "string") return { answer: Number(known) };
    turn.left ??= Number(stock);
    if (turn.left === 0) return { answer: null };
    const left = --turn.left;
    return { answer: left, writes: [["SET", this.#stock, left], ["HSET", this.#orders, number, left], ["RPUSH", this.#log, number]] };
  };
}

type Sale = GroupCommit<number, Left, Turn>;

/** A sale of 100, of which one is sold: so its isolate knows what is left. */
async function begun(stack: Stack, lock: Lock, section: Section<number, Left, Turn> = new Stock(stack)): Promise<Sale> {
  await stack.redis("SET ~stock 100");
  const sale = new GroupCommit(section);
  equal(await sale.submit(lock, 0), 99);
  return sale;
}

/** A lock whose requests pass through `network`, behind that many that just pass. */
function watched(stack: Stack, network = new Network(), settings = {}, options: LockOptions = {}) {
  return { network, lock: stack.client({ fetch: network.fetch, ...settings }).lock("a", options) };
}

/** A lock whose requests from this number on are held up, until it is opened up to another. */
function gated(stack: Stack, from: number) {
  const held: Array<() => void> = [];
  let closedFrom = from;
  const pass = () => new Promise<void>((go) => (++gate.count < closedFrom ? go() : held.push(go)));
  const gate = {
    count: 0,
    open(upTo = Infinity) {
      closedFrom = upTo;
      for (const go of held.splice(0)) go();
    },
    lock: stack.client({ push: false, fetch: (url, init) => pass().then(() => fetch(url, init)) }).lock("a"),
  };
  return gate;
}

/** What was sold, in this order. */
const log = async (stack: Stack) => ((await stack.redis("LRANGE ~log 0 -1")) as string[]).map(Number);

/** How many wait for their turn of the lock over a stream. */
const listeners = async (stack: Stack) => ((await stack.redis(`PUBSUB CHANNELS {~a}:wake:*`)) as string[]).length;

const isFree = async (stack: Stack) => (await stack.redis("EXISTS ~a")) === 0;

/** How many requests each of three more orders costs. */
async function cost(stack: Stack, lock: Lock, network: Network, section: Section<number, Left, Turn>): Promise<number[]> {
  const sale = await begun(stack, lock, section);
  const costs: number[] = [];
  for (const number of [1, 2, 3]) {
    await eventually(() => isFree(stack));
    const before = network.seen.length;
    equal(await sale.submit(lock, number), 99 - number);
    costs.push(network.seen.length - before);
  }
  return costs;
}

export const guessed: Suite = {
  async a_turn_that_nobody_competes_with_is_one_request(stack) {
    const { turns, onEvent } = watchTurns();
    const { network, lock } = watched(stack, undefined, { onEvent });
    await stack.redis("SET ~stock 3");
    const section = new Stock(stack);
    const sale = new GroupCommit(section);
    equal(await sale.submit(lock, 0), 2);
    const first = network.seen.length;
    for (const [number, left] of [[1, 1], [2, 0], [3, null], [4, null]] as const) equal(await sale.submit(lock, number), left);
    equal([first, network.seen.length], [2, 6]);
    equal(await log(stack), [0, 1, 2]);
    check(await isFree(stack), "nobody has the lock");
    equal(turns, [1, 1, 1, 1, 1]);
    equal([...section.fences], [0]);
  },

  async callers_that_come_together_share_a_turn_of_one_request(stack) {
    const gate = gated(stack, 4);
    const sale = await begun(stack, gate.lock);
    const submit = (number: number) => sale.submit(gate.lock, number);
    equal(await Promise.all([1, 2, 3, 4].map(submit)), [98, 97, 96, 95]);
    equal(gate.count, 3);
    // Whom a turn answers, and who waited meanwhile, come together from the next one on.
    const caller = async (own: number) => {
      for (let turn = 0; turn < 10; turn++) await submit(10 * own + turn);
    };
    const one = caller(1);
    await eventually(() => gate.count === 4);
    const other = caller(2);
    gate.open();
    await Promise.all([one, other]);
    check(gate.count <= 3 + 15, `${gate.count} requests`);
    equal(await stack.redis("GET ~stock"), "75");
  },

  async a_turn_that_expects_something_else_decides_anew_by_what_is_there(stack) {
    const { network, lock } = watched(stack);
    const sale = await begun(stack, lock);
    const first = network.seen.length;
    await stack.redis("SET ~stock 8");
    equal(await sale.submit(lock, 1), 7);
    equal(network.seen.length - first, 2);
    // An order that is on record, though the isolate does not know it.
    await stack.redis("HSET ~orders 5 41");
    equal(await sale.submit(lock, 5), 41);
    equal(await log(stack), [0, 1]);
    check(await isFree(stack), "it took the lock");
  },

  async each_of_two_isolates_decides_by_what_the_other_wrote(stack) {
    const { lock } = watched(stack);
    const [one, other] = [await begun(stack, lock), new GroupCommit(new Stock(stack))];
    for (let left = 98; left > 90; left -= 2) {
      equal([await one.submit(lock, left), await other.submit(lock, left + 100)], [left, left - 1]);
    }
    // Whoever looks in from elsewhere sees no lock, and each order once.
    const both = [one, other].flatMap((sale, at) => [1, 2, 3].map((number) => sale.submit(lock, 1000 * (at + 1) + number)));
    equal((await Promise.all(both)).sort(), [85, 86, 87, 88, 89, 90]);
    equal(new Set(await log(stack)).size, 15);
  },

  async a_turn_expects_what_a_look_found(stack) {
    const { network, lock } = watched(stack);
    const sale = await begun(stack, lock, { ...new Stock(stack), peek: () => undefined });
    equal(await sale.submit(lock, 1), 98);
    const before = network.seen.length;
    equal(await sale.submit(lock, 1), 98);
    equal(network.seen.length - before, 2);
    check(await isFree(stack), "the turn took no lock");
  },

  async behind_an_odd_item_turns_are_one_request_again(stack) {
    const { network, lock } = watched(stack);
    await stack.redis("MSET ~0 5 ~1 5");
    const key = (odd: boolean) => ({ key: `${stack.mark}${Number(odd)}` });
    const group = new GroupCommit<boolean, number>({
      usesFence: false,
      reads: (odd) => [["GET", key(odd)]],
      decide: (odd, [found]) => ({ answer: Number(found), writes: [["INCR", key(odd)]] }),
    });
    const costs: number[] = [];
    for (const odd of [false, false, true, false, false, false]) {
      const before = network.seen.length;
      await group.submit(lock, odd);
      costs.push(network.seen.length - before);
    }
    // What two turns read one after the other, the next one will read, too.
    equal(costs, [2, 1, 2, 2, 2, 1]);
    equal(await stack.redis("MGET ~0 ~1"), ["10", "6"]);
  },

  async what_one_item_reads_is_not_read_again_behind_its_writes_though_a_guess_was_wrong(stack) {
    const { network, lock } = watched(stack);
    const sale = await begun(stack, lock);
    await stack.redis("SET ~stock 8");
    const before = network.seen.length;
    equal(await sale.submit(lock, 1), 7);
    equal(network.seen.slice(before).map((words) => words.filter((word) => word === "HGET").length), [1, 1]);
  },

  async a_section_that_uses_its_fence_or_reads_what_never_repeats_takes_the_lock(stack) {
    const { network, lock } = watched(stack);
    const fenced = Object.assign(new Stock(stack), { usesFence: true });
    equal(await cost(stack, lock, network, fenced), [2, 2, 2]);
    const fences = [...fenced.fences];
    check(fences.length === 4 && fences.every((fence, at) => fence > (fences[at - 1] ?? 0)), `${fences}`);
    await stack.redis("DEL ~orders");
    const timed = new Stock(stack);
    // Three guesses are wrong, and later turns take the lock with the first.
    equal(await cost(stack, lock, network, { ...timed, reads: (number) => [...timed.reads(number), ["TIME"]] }), [4, 2, 2]);
    // A writer excludes readers, whom such a turn would not see.
    await stack.redis("DEL ~orders");
    const writer = stack.client({ fetch: network.fetch }).readWrite("a").write();
    equal(await cost(stack, writer, network, new Stock(stack)), [2, 2, 2]);
  },

  async a_turn_waits_for_a_holder_and_sees_what_it_wrote(stack) {
    const { network, lock } = watched(stack);
    const sale = await begun(stack, lock);
    const held = await take(stack.lock("a"));
    const sent = network.seen.length;
    const order = sale.submit(lock, 1);
    // Twice in vain, and then it stands in the queue.
    await eventually(async () => network.seen.length > sent + 2 && (await stack.waitersFor("a")) === 1);
    const [first, second, third] = network.seen.slice(sent).map(([, script]) => script);
    check(first === second && second !== third, "it tries twice");
    equal(await log(stack), [0]);
    await held.commit([["SET", { key: `${stack.mark}stock` }, 500]]);
    equal(await order, 499);
  },

  async a_turn_that_is_handed_the_lock_decides_by_what_its_last_holder_left(stack) {
    const [first, second] = [watched(stack), watched(stack)];
    const [one, other] = [await begun(stack, first.lock), new GroupCommit(new Stock(stack))];
    equal(await other.submit(second.lock, 0), 99);
    // Nothing is written for it, so it is answered before its turn gives the lock back.
    await eventually(() => isFree(stack));
    for (const [orders, left, requests] of [[[1, 2], [98, 97], 1], [[3, 1], [96, 98], 2]] as const) {
      const held = await take(stack.lock("a"));
      const orderOne = one.submit(first.lock, orders[0]);
      await eventually(async () => (await stack.waitersFor("a")) === 1);
      const orderOther = other.submit(second.lock, orders[1]);
      await eventually(async () => (await stack.waitersFor("a")) === 2 && (await listeners(stack)) === 2);
      const sent = second.network.seen.length;
      await held.release();
      equal([await orderOne, await orderOther], left);
      equal(second.network.seen.length - sent, requests);
    }
    equal(await log(stack), [0, 1, 2, 3]);
  },

  async a_turn_of_unknown_outcome_is_told_as_unknown_and_leaves_no_lock_behind(stack) {
    for (const expectsRight of [true, false]) {
      await stack.redis("DEL ~orders ~log");
      const { lock } = watched(stack, new Network("pass", "pass", "lose the answer"), { maxAttempts: 1 });
      const sale = await begun(stack, lock);
      if (!expectsRight) await stack.redis("SET ~stock 5");
      const error = await fails("unavailable", sale.submit(lock, 1));
      check(error.isOutcomeUnknown, `${error}`);
      await eventually(() => isFree(stack));
      equal(await log(stack), expectsRight ? [0, 1] : [0]);
      // What this isolate expects may be wrong now, and is found to be.
      equal(await sale.submit(lock, 2), expectsRight ? 97 : 4);
    }
  },

  async an_item_for_which_nothing_was_to_be_written_is_not_unknown(stack) {
    await stack.redis("SET ~stock 0");
    const { network, lock } = watched(stack, new Network("pass", "pass", "lose the answer"), { maxAttempts: 1 });
    const sale = new GroupCommit(new Stock(stack));
    equal(await sale.submit(lock, 1), null);
    await eventually(() => network.seen.length === 2);
    const error = await fails("unavailable", sale.submit(lock, 2));
    check(!error.isOutcomeUnknown, `${error}`);
  },

  async an_item_for_which_nothing_was_to_be_written_may_come_again_though_its_turn_was_handed_the_lock(stack) {
    await stack.redis("SET ~stock 100");
    const first = watched(stack);
    // A Redis that is handed a request and whose answer is lost, from when `loses` is set.
    let loses = false;
    const lossy = async (url: string, init: FetchInit) => {
      const response = await fetch(url, init);
      if (!loses || init.body === undefined) return response;
      loses = false;
      await response.text();
      throw new TypeError("lost");
    };
    const second = stack.client({ fetch: lossy, maxAttempts: 1 }).lock("a");
    const sells = new Stock(stack);
    const section = {
      usesFence: false,
      reads: (order: number) => sells.reads(order).slice(0, 1),
      begin: sells.begin,
      // It only looks at what is left, if it is no order.
      decide: (order: number, [stock]: readonly Reply[], turn: Turn) => (order > 0 ? sells.decide(order, [stock ?? null, null], turn, 0) : { answer: Number(stock) }),
    };
    const [one, other] = [new GroupCommit<number, Left, Turn>(section), new GroupCommit<number, Left, Turn>(section)];
    equal([await one.submit(first.lock, 1), await other.submit(second, 2)], [99, 98]);
    for (const [order, look, left] of [[3, 4, 97], [5, 0, 95]] as const) {
      const held = await take(stack.lock("a"));
      const sold = one.submit(first.lock, order);
      await eventually(async () => (await stack.waitersFor("a")) === 1);
      const looked = other.submit(second, look).catch((error: unknown) => error);
      await eventually(async () => (await stack.waitersFor("a")) === 2 && (await listeners(stack)) === 2);
      loses = look === 0;
      await held.release();
      equal(await sold, left);
      if (look > 0) equal(await looked, left - 1);
      else {
        const error = await fails("unavailable", async () => { throw await looked; });
        check(!error.isOutcomeUnknown && error.isRetryable, `${error}`);
      }
    }
    await eventually(() => isFree(stack));
    equal(await log(stack), [1, 2, 3, 4, 5]);
  },

  async a_caller_that_leaves_before_its_turn_was_sent_is_not_decided_and_one_behind_it_is(stack) {
    const gate = gated(stack, 3);
    const sale = await begun(stack, gate.lock);
    const [early, late] = [new AbortController(), new AbortController()];
    const first = sale.submit(gate.lock, 1);
    await eventually(() => gate.count === 3);
    const [second, third] = [early, late].map(({ signal }, at) => thrown(sale.submit(gate.lock, at + 2, { signal })));
    const fourth = sale.submit(gate.lock, 4);
    early.abort();
    check((await second) === early.signal.reason, "it has left");
    gate.open(4);
    equal(await first, 98);
    await eventually(() => gate.count === 4);
    late.abort();
    check((await third) === late.signal.reason, "it has left");
    gate.open();
    equal(await fourth, 96);
    // Its request was under way.
    equal(await log(stack), [0, 1, 3, 4]);
  },

  async a_caller_that_leaves_while_its_turn_waits_for_the_lock_is_not_decided(stack) {
    const { lock } = watched(stack);
    const sale = await begun(stack, lock);
    const held = await take(stack.lock("a"));
    const stop = new AbortController();
    const left = [1, 2].map((number) => thrown(sale.submit(lock, number, { signal: stop.signal })));
    const stays = sale.submit(lock, 3);
    await eventually(async () => (await stack.waitersFor("a")) === 1);
    stop.abort();
    for (const error of await Promise.all(left)) check(error === stop.signal.reason, `${error}`);
    await held.release();
    equal(await stays, 98);
    equal(await log(stack), [0, 3]);
  },

  async each_item_waits_as_long_as_its_own_lock_says_though_its_turn_was_tried_without_the_lock(stack) {
    for (const waits of [[300, 20_000], [20_000, 300]]) {
      await stack.redis("DEL ~orders ~log");
      const sale = await begun(stack, stack.lock("a"));
      const held = await take(stack.lock("a"));
      const orders = waits.map((wait, at) => sale.submit(stack.lock("a", { wait }), at + 1));
      const impatient = waits[0] === 300 ? 0 : 1;
      await fails("held", orders[impatient]!);
      await held.release();
      equal(await orders[1 - impatient], 98);
    }
  },

  async a_turn_sends_no_more_requests_than_its_lock_may(stack) {
    // A slow host may have time for fewer. Who need not wait tries once, and asks once.
    for (const [options, least, most] of [[{ maxRequests: 8, wait: 1_000 }, 3, 8], [{ wait: 0 }, 2, 2]] as const) {
      await stack.redis("DEL ~orders ~log");
      const { network, lock } = watched(stack, undefined, { push: false }, options);
      const sale = await begun(stack, lock);
      const held = await take(stack.lock("a"));
      const before = network.seen.length;
      await fails("held", sale.submit(lock, 1));
      const sent = network.seen.length - before;
      check(sent >= least && sent <= most, `${sent} requests`);
      await held.release();
    }
  },

  async with_few_requests_a_turn_waits_in_the_queue_nevertheless(stack) {
    for (const maxRequests of [5, 6, 7, 8]) {
      await stack.redis("DEL ~orders ~log");
      const lock = stack.lock("a", { maxRequests });
      const sale = await begun(stack, lock);
      const held = await take(stack.lock("a"));
      const order = sale.submit(lock, 1);
      await eventually(async () => (await stack.waitersFor("a")) === 1);
      await held.release();
      equal(await order, 98);
    }
  },

  async a_driver_that_is_gone_behind_its_request_leaves_its_items_unknown_and_no_lock_behind(stack) {
    const { lock } = watched(stack);
    const sale = await begun(stack, lock);
    // It expects something else, thrice, so its third request takes the lock.
    await stack.redis("SET ~stock 50");
    const network = new Network("pass", "pass", "withhold the answer", "hang", "hang");
    const fetch = async (url: string, init: FetchInit) => {
      if (network.seen.length === 1) await stack.redis("SET ~stock 45");
      if (network.seen.length === 2) await stack.redis("SET ~stock 40");
      return network.fetch(url, init);
    };
    const gone = watched(stack, network, { requestTimeout: 3_000, fetch });
    const driver = thrown(withoutBeats(() => sale.submit(gone.lock, 1)));
    await eventually(async () => !(await isFree(stack)));
    // It waits for less than the ttl of 10 s, so it does not wait for the lock to expire.
    equal(await sale.submit(stack.client({ requestTimeout: 800 }).lock("a"), 2), 39);
    const error = await driver;
    check(error instanceof EdgelockError && error.isOutcomeUnknown, `${error}`);
    equal(await log(stack), [0, 2]);
  },

  async what_the_next_turn_will_read_makes_no_request_larger_than_it_may_be(stack) {
    const { network, lock } = watched(stack);
    const key = (number: number) => ({ key: `${stack.mark}${number}${"k".repeat(200)}` });
    const group = new GroupCommit<number, number>({
      usesFence: false,
      reads: () => [0, 1, 2, 3, 4, 5, 6, 7].map((number) => ["GET", key(number)]),
      decide: (answer) => ({ answer, writes: [["SET", { key: `${stack.mark}v` }, "v".repeat(8_000)]] }),
    }, { maxBytes: 10_000 });
    for (const item of [1, 2, 3]) equal(await group.submit(lock, item), item);
    for (const words of network.seen) {
      // Behind the script.
      const bytes = words.slice(2).reduce((sum, word) => sum + word.length + 3, 0);
      check(bytes < 10_000, `${bytes}`);
    }
  },

  async what_the_end_of_a_turn_makes_of_a_guess_is_no_error_of_its_items(stack) {
    const key = (name: string) => ({ key: `${stack.mark}${name}` });
    const prices = [7, 11, 13];
    for (const [n, price] of prices.entries()) await stack.redis(`SET ~price${n} ${price}`);
    const sale = new GroupCommit({
      usesFence: false,
      reads: (n: number) => [["GET", key(`price${n}`)]],
      begin: () => ({ sum: [] as string[] }),
      decide(_: number, [price], state) {
        state.sum.push(price as string);
        return { answer: Number(price) };
      },
      // Where a guess has nothing, this throws.
      end: ({ sum }) => [["INCRBY", key("sum"), sum.reduce((all, price) => all + Number(price.slice()), 0)]],
    });
    for (const [n, price] of prices.entries()) equal(await sale.submit(stack.lock("a"), n), price);
    equal(await stack.redis("GET ~sum"), "31");
  },
};
