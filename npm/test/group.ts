// Shared turns: callers of one process that hold the lock together. The promises are those of
// tests/it/group.rs, with the same names.
import { type Command, CommandFailedError, type Decision, EdgelockError, GroupCommit, HeldError, type LockEvent, type LockOptions, type Reply, type Section } from "edgelock";
import { check, equal, eventually, fails, Network, sleep, type Stack, type Suite, thrown, withoutBeats } from "./harness.js";

interface Order {
  readonly number: number;
  /** What fails, if anything does. */
  readonly bad?: "read" | "write" | "decision" | "command";
}

/** What is left after the order, and the fence under which it was sold, if it was. */
type Sold = { readonly left: number; readonly fence: number } | undefined;

interface Turn {
  left?: number;
}

/** Sells what is in `stock`, which is 100 if it is not set. */
class Sale {
  readonly #stock: { readonly key: string };
  readonly #orders: { readonly key: string };
  readonly #text: { readonly key: string };
  decided = 0;

  constructor({ mark }: Stack) {
    [this.#stock, this.#orders, this.#text] = [{ key: `${mark}stock` }, { key: `${mark}orders` }, { key: `${mark}text` }];
  }

  // Own properties, so that a section with other parts is spread from it.
  readonly reads = ({ number, bad }: Order): Command[] => [["GET", this.#stock], [bad === "command" ? "HDEL" : "HGET", bad === "read" ? this.#text : this.#orders, number]];

  readonly begin = (): Turn => ({});

  readonly decide = ({ number, bad }: Order, [stock, known]: readonly Reply[], turn: Turn, fence: number): Decision<Sold> => {
    this.decided++;
    check(known === null, `${number} was decided before`);
    if (bad === "decision") throw new RangeError(`${number} is refused`);
    turn.left ??= Number(stock ?? 100);
    if (turn.left === 0) return { answer: undefined };
    const left = --turn.left;
    const writes: Command[] = [["SET", this.#stock, left], ["HSET", this.#orders, number, fence]];
    if (bad === "write") writes.push(["LPUSH", this.#text, 1]);
    return { answer: { left, fence }, writes };
  };
}

const order = (number: number): Order => ({ number });
const orders = (count: number) => Array.from({ length: count }, (_, number) => order(number));

/** Places orders at once, each with a client of its own, as requests do. Returns their outcomes. */
function place(stack: Stack, sale: GroupCommit<Order, Sold, Turn>, placed: readonly Order[], settings = {}, options: LockOptions = {}) {
  const submit = (order: Order) => sale.submit(stack.client(settings).lock("a", options), order);
  return Promise.allSettled(placed.map(submit));
}

/** The same, but all orders except the first come while the first one's turn is under way. */
async function placeBehind(stack: Stack, sale: GroupCommit<Order, Sold, Turn>, placed: readonly Order[], network: Network, settings = {}) {
  const first = place(stack, sale, placed.slice(0, 1), { ...settings, fetch: network.fetch });
  await eventually(() => network.seen.length >= 1);
  const others = await place(stack, sale, placed.slice(1), { ...settings, fetch: network.fetch });
  return [...(await first), ...others];
}

const said = <Answer>(outcome: PromiseSettledResult<Answer>) => (outcome.status === "fulfilled" ? outcome.value : String(outcome.reason));

const left = (outcomes: readonly PromiseSettledResult<Sold>[]) =>
  outcomes.map((outcome) => (outcome.status === "fulfilled" ? (outcome.value?.left ?? null) : String(outcome.reason)));

function reason(outcome: PromiseSettledResult<Sold> | undefined): EdgelockError {
  if (outcome?.status !== "rejected" || !(outcome.reason instanceof EdgelockError)) throw new Error("it did not fail", { cause: outcome });
  return outcome.reason;
}

/** How many items each turn has had of the clients with this setting. */
export function watchTurns() {
  const turns: number[] = [];
  return { turns, onEvent: (event: LockEvent) => void (event.type === "grouped" && turns.push(event.items)) };
}

/** A section whose items are commands to write, and are answered with their places. */
class Notes {
  readonly #list: Command[1];

  constructor({ mark }: Stack) {
    this.#list = { key: `${mark}notes` };
  }

  reads(): Command[] {
    return [];
  }

  decide({ number, writes }: Written): Decision<number> {
    return { answer: number, writes: writes.map(([name, , ...words]) => [name, this.#list, ...words]) };
  }
}

interface Written {
  readonly number: number;
  readonly writes: readonly Command[];
}

/** Its second word becomes the key of the notes. */
const note: Command = ["RPUSH", "", 1];

/** The answers to items that are submitted at once. */
async function answers(stack: Stack, notes: GroupCommit<Written, number>, items: ReadonlyArray<readonly Command[]>) {
  const submit = (writes: readonly Command[], number: number) => notes.submit(stack.lock("a"), { number, writes });
  return (await Promise.allSettled(items.map(submit))).map(said);
}

export const group: Suite = {
  async a_section_may_use_its_arrays_again(stack) {
    await stack.redis("MSET ~a 10 ~b 20");
    const key = { key: "" };
    const [read, write] = [["GET", key] as const, ["SET", key, 0] as [string, { key: string }, number]];
    const visits = new GroupCommit<string, Reply>({
      reads: (page) => ((key.key = `${stack.mark}${page}`), [read]),
      decide(page, [before = null]) {
        key.key = `${stack.mark}${page}`;
        write[2] = Number(before) + 1;
        return { answer: before, writes: [write] };
      },
    });
    const lock = stack.lock("pages");
    equal(await Promise.all(["a", "b"].map((page) => visits.submit(lock, page))), ["10", "20"]);
    equal(await stack.redis("MGET ~a ~b"), ["11", "21"]);
  },

  async whoever_comes_while_a_turn_is_under_way_shares_the_next(stack) {
    const [network, { turns, onEvent }] = [new Network(), watchTurns()];
    const outcomes = await placeBehind(stack, new GroupCommit(new Sale(stack)), orders(40), network, { onEvent });
    const fences = outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value?.fence : 0));
    equal(new Set(fences).size, 2);
    equal(network.seen.length, 4);
    equal(await stack.redis("GET ~stock"), "60");
    equal(await stack.redis("HLEN ~orders"), 40);
    await eventually(() => turns.length === 2);
    equal(turns, [1, 39]);
  },

  async whoever_comes_while_a_turn_waits_for_the_lock_is_in_it(stack) {
    const held = await stack.lock("a").acquire();
    const [network, { turns, onEvent }] = [new Network(), watchTurns()];
    const sale = new GroupCommit(new Sale(stack));
    const first = place(stack, sale, [order(0)], { fetch: network.fetch, onEvent }, { ttl: 3_000 });
    await eventually(() => network.seen.length >= 2);
    const others = place(stack, sale, orders(20).slice(1), { onEvent });
    // Waits for the request that was under way before these callers came.
    const { length } = network.seen;
    await eventually(() => network.seen.length > length);
    await held.release();
    equal(left([...(await first), ...(await others)]), Array.from({ length: 20 }, (_, number) => 99 - number));
    await eventually(() => turns.length === 1);
    equal(turns, [20]);
  },

  async items_are_decided_in_the_order_in_which_they_came_and_each_sees_those_before(stack) {
    await stack.redis("SET ~stock 10");
    const outcomes = await place(stack, new GroupCommit(new Sale(stack)), orders(30));
    equal(left(outcomes), [...[9, 8, 7, 6, 5, 4, 3, 2, 1, 0], ...Array(20).fill(null)]);
    equal(await stack.redis("GET ~stock"), "0");
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async an_item_that_fails_fails_alone(stack) {
    await stack.redis("SET ~text x");
    const ways = {
      read: [/^CommandFailedError: command 1, "HGET", failed/, 97],
      // It is refused before it gets a turn.
      command: [/^InvalidArgumentError: /, 97],
      decision: [/^RangeError: 2 is refused$/, 97],
      // Its other writes were executed.
      write: [/^CommandFailedError: command 2, "LPUSH", failed/, 96],
    } as const;
    for (const [bad, [told, last]] of Object.entries(ways)) {
      await stack.redis("DEL ~stock ~orders");
      const outcomes = await place(stack, new GroupCommit(new Sale(stack)), [order(0), order(1), { number: 2, bad } as Order, order(3)]);
      const [own] = outcomes.splice(2, 1);
      equal([bad, left(outcomes), await stack.redis("GET ~stock")], [bad, [99, 98, last], `${last}`]);
      check(told.test(String(said(own!))), `${bad}: ${said(own!)}`);
    }
  },

  async an_item_that_writes_no_command_is_answered(stack) {
    const notes = new Notes(stack);
    const items = [[], [note], [], [note], []] as const;
    equal(await answers(stack, new GroupCommit(notes), items), [0, 1, 2, 3, 4]);
    equal(await stack.redis("LLEN ~notes"), 2);
  },

  async a_command_that_cannot_be_sent_fails_its_own_item_alone(stack) {
    const large = (words: number): Command => [...note, ...Array<number>(words - note.length).fill(1)];
    const items = [[note], [note], [note, large(1001)], [large(1000)], [["RPUSH", "", NaN]], [note]] as const;
    const refused = "InvalidArgumentError: invalid argument: ";
    equal(await answers(stack, new GroupCommit(new Notes(stack)), items), [
      0,
      1,
      `${refused}the command "RPUSH" has 1001 words, and may have 1000; split it (for "${stack.mark}a")`,
      3,
      `${refused}a word of a command is a string, a finite number or { key: "…" }; word 2 of command 0 is NaN`,
      5,
    ]);
    equal(await stack.redis("LLEN ~notes"), 3 + 998);
  },

  async a_turn_has_one_item_at_least_however_small_it_must_be(stack) {
    for (const options of [{ maxBytes: 0 }, { maxItems: 1 }]) {
      await stack.redis("DEL ~notes");
      equal(await answers(stack, new GroupCommit(new Notes(stack), options), [[note], [note], [note]]), [0, 1, 2]);
      equal(await stack.redis("LLEN ~notes"), 3);
    }
  },

  async an_item_that_is_refused_changes_nothing_of_what_the_others_share(stack) {
    const stock = { key: `${stack.mark}stock` };
    const section = (usesFence: boolean): Section<string, number, Turn & { isSpoilt?: boolean }> => ({
      usesFence,
      reads: () => [["GET", stock]],
      begin: () => ({}),
      decide(fault, [found], turn) {
        check(!turn.isSpoilt, "it is decided by what a refused item left");
        turn.isSpoilt = fault !== "";
        turn.left = (turn.left ?? Number(found)) - 1;
        if (fault === "throws") throw new RangeError("it is refused");
        return { answer: turn.left, writes: [["SET", fault === "marks no key" ? "stock" : stock, turn.left]] };
      },
      end(turn) {
        check(!turn.isSpoilt, "the turn ends by what a refused item left");
        return [];
      },
    });
    for (const usesFence of [true, false]) {
      for (const fault of ["throws", "marks no key"]) {
        await stack.redis("SET ~stock 100");
        const sale = new GroupCommit(section(usesFence));
        const submit = (item: string) => sale.submit(stack.lock("a"), item);
        const outcomes = await Promise.allSettled([fault, "", fault, "", fault].map(submit));
        equal(outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : null)), [null, 99, null, 98, null]);
        equal(await stack.redis("GET ~stock"), "98");
      }
    }
  },

  async a_crowd_of_refused_items_has_few_decisions_made_again(stack) {
    const stock = { key: `${stack.mark}stock` };
    let decisions = 0;
    const section = (throws: boolean): Section<number, number, Turn> => ({
      usesFence: false,
      reads: () => [["GET", stock]],
      begin: () => ({}),
      decide(n, [found], turn) {
        decisions++;
        turn.left = (turn.left ?? Number(found)) - 1;
        if (n % 2 > 0) return { answer: turn.left, writes: [["SET", stock, turn.left]] };
        if (throws) throw new RangeError("it is refused");
        return { answer: turn.left, writes: [["SET", "no key", turn.left]] };
      },
    });
    // As one turn they would take 16,512, and 1,049,600.
    for (const [count, most] of [[256, 8_000], [2_048, 30_000]] as const) {
      for (const throws of [true, false]) {
        await stack.redis(`SET ~stock ${count / 2}`);
        decisions = 0;
        const sale = new GroupCommit(section(throws), { maxItems: count });
        const outcomes = await Promise.allSettled(Array.from({ length: count }, (_, n) => sale.submit(stack.lock("a", { wait: 30_000 }), n)));
        const sold = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
        equal(sold, Array.from({ length: count / 2 }, (_, n) => count / 2 - 1 - n));
        check(decisions < most, `${decisions} decisions of ${count}`);
      }
    }
  },

  async a_commit_that_cannot_be_learned_is_unknown_for_those_that_rest_on_it(stack) {
    for (const [fate, landed] of [["lose the request", false], ["lose the answer", true]] as const) {
      await stack.redis("DEL ~stock ~orders");
      const network = new Network("pass", "pass", "pass", fate, fate, fate);
      const sale = new GroupCommit(new Sale(stack));
      const placed = [order(0), { number: 1, bad: "decision" as const }, order(2), order(3)];
      const outcomes = await placeBehind(stack, sale, placed, network);
      // The second order came before the first write of its turn.
      equal(left(outcomes.slice(0, 2)), [99, "RangeError: 1 is refused"]);
      for (const outcome of outcomes.slice(2)) check(reason(outcome).isOutcomeUnknown, "it is unknown");
      const next = await sale.submit(stack.lock("a"), order(4));
      equal(next?.left, landed ? 96 : 98);
    }
  },

  async what_was_never_decided_is_not_unknown(stack) {
    const sale = new Sale(stack);
    for (const [section, passing] of [[sale, 0], [{ ...sale, peek: () => undefined }, 1]] as const) {
      await stack.redis("DEL ~orders");
      const lost = Array<"lose the answer">(3).fill("lose the answer");
      const network = new Network(...Array<"pass">(passing).fill("pass"), ...lost);
      const group = new GroupCommit<Order, Sold, Turn>(section);
      const error = await fails("unavailable", group.submit(stack.client({ fetch: network.fetch }).lock("a", { wait: 0 }), order(0)));
      check(!error.isOutcomeUnknown, "nothing was done");
      // What was lost keeps nobody out.
      check((await group.submit(stack.lock("a"), order(1))) !== undefined, "it is sold");
    }
  },

  async what_needs_no_turn_is_answered_by_a_request_that_all_share(stack) {
    await stack.redis("SET ~stock 0");
    const held = await stack.lock("a").acquire();
    const [network, sale] = [new Network(), new Sale(stack)];
    const peek = (_: Order, [stock]: readonly Reply[]) => (Number(stock) === 0 ? { answer: undefined } : undefined);
    const outcomes = await place(stack, new GroupCommit<Order, Sold, Turn>({ ...sale, peek }), orders(20), { fetch: network.fetch });
    equal(left(outcomes), Array(20).fill(null));
    equal([network.seen.length, sale.decided], [2, 0]);
    await held.release();
  },

  async what_replicas_must_have_is_not_looked_at_before_its_turn(stack) {
    const group = new GroupCommit<Order, Sold, Turn>({ ...new Sale(stack), peek: () => ({ answer: undefined }) });
    // There is no replica, so what is written here must be reported to nobody.
    const lock = stack.lock("a", { waitForReplicas: { count: 1, within: 10 } });
    await fails("not_replicated", group.submit(lock, order(0)));
  },

  async a_look_that_fails_costs_an_item_nothing_but_time(stack) {
    const network = new Network("lose the request");
    const group = new GroupCommit<Order, Sold, Turn>({ ...new Sale(stack), peek: () => undefined });
    const sold = await group.submit(stack.client({ ...network, maxAttempts: 1 }).lock("a"), order(0));
    equal([sold?.left, network.seen.length], [99, 3]);
  },

  async a_caller_that_comes_when_too_many_wait_is_told_so_at_once(stack) {
    const held = await stack.lock("a").acquire();
    const outcomes = await place(stack, new GroupCommit(new Sale(stack), { maxItems: 1, maxWaiting: 2 }), orders(4), {}, { wait: 200 });
    const error = reason(outcomes[3]);
    // One item is in a turn, and two wait.
    check(error instanceof HeldError && error.ahead === 2 && error.requests === 0, `${error}`);
    await held.release();
    // An item that comes when no other is there does not wait.
    const alone = new GroupCommit(new Sale(stack), { maxWaiting: 0 });
    check((await alone.submit(stack.lock("b"), order(9))) !== undefined, "it is sold");
  },

  async names_with_full_queues_leave_others_half_of_what_they_have_alone(stack) {
    await stack.redis("SET ~stock 0");
    const sale = new GroupCommit(new Sale(stack), { maxWaiting: 20 });
    // A browser has six connections to a host, which a dozen that listen would take.
    const client = stack.client({ push: false });
    const lock = (name: string) => client.lock(name, { wait: 30_000 });
    // How many of 40 items of the name `idle`, of ten callers, are answered.
    const answered = async (): Promise<number> => {
      let count = 0;
      const submit = async () => {
        for (let item = 0; item < 4; item++) await sale.submit(lock("idle"), order(item)).then(() => count++, () => {});
      };
      await Promise.all(Array.from({ length: 10 }, submit));
      return count;
    };
    const alone = await answered();
    // Each of twelve names has more items than may wait, and its lock is held meanwhile.
    const names = Array.from({ length: 12 }, (_, name) => `full:${name}`);
    const held = await Promise.all(names.map((name) => client.lock(name).acquire()));
    let refused = 0;
    const full = names.flatMap((name) => Array.from({ length: 40 }, (_, item) => sale.submit(lock(name), order(item)).catch(() => void refused++)));
    await eventually(() => refused > 0);
    const beside = await answered();
    const waiting = full.length - refused;
    console.log(`items of an idle name: alone ${alone}, beside ${waiting} of full ones ${beside}`);
    check(2 * beside >= alone, `${beside}, not ${alone}`);
    // The bound of all names together, and one item of each.
    check(waiting <= 200 + 12, `${waiting}`);
    await Promise.all(held.map((lease) => lease.release()));
    await Promise.all(full);
  },

  async each_item_waits_for_its_turn_as_long_as_its_own_lock_says_whoever_drives(stack) {
    const patience = 20_000;
    // The first drives, and then the next of those that wait yet.
    for (const waits of [[patience, 200], [200, patience, 600], [200, 400, patience]]) {
      await stack.redis("DEL ~stock ~orders");
      const held = await stack.lock("a", { ttl: 60_000 }).acquire();
      const sale = new GroupCommit(new Sale(stack));
      const placed = waits.map((wait, number) => sale.submit(stack.lock("a", { wait }), order(number)));
      const [patient, outcomes] = [waits.indexOf(patience), Promise.allSettled(placed)];
      await Promise.all(placed.filter((_, at) => at !== patient).map((hasty) => fails("held", hasty)));
      await held.release();
      equal([left(await outcomes)[patient], await stack.redis("HKEYS ~orders")], [99, [`${patient}`]]);
    }
  },

  async a_turn_has_no_more_items_and_bytes_than_it_may(stack) {
    const { turns, onEvent } = watchTurns();
    await place(stack, new GroupCommit(new Sale(stack), { maxItems: 4 }), orders(10), { onEvent });
    await eventually(() => turns.length === 3);
    equal(turns, [4, 4, 2]);
    await stack.redis("DEL ~orders");
    const outcomes = await place(stack, new GroupCommit(new Sale(stack), { maxBytes: 150 }), orders(6), { onEvent });
    equal(left(outcomes), [89, 88, 87, 86, 85, 84]);
    // The reads of one item are 100 bytes, and so are the writes of one item below.
    await eventually(() => turns.length === 9);
    equal(turns.slice(3), [1, 1, 1, 1, 1, 1]);
    const note = { key: `${stack.mark}note` };
    const [decided, late] = [[] as number[], [] as Array<Promise<number>>];
    const notes: GroupCommit<number, number> = new GroupCommit({
      reads: () => [],
      decide(number: number) {
        decided.push(number);
        if (number === 1) late.push(submit(4));
        return { answer: number, writes: [["SET", note, "x".repeat(100)]] };
      },
    }, { maxBytes: 200 });
    const lock = stack.client({ onEvent }).lock("a");
    const submit = (number: number) => notes.submit(lock, number);
    equal(await Promise.all([0, 1, 2, 3].map(submit)), [0, 1, 2, 3]);
    equal(await Promise.all(late), [4]);
    await eventually(() => turns.length === 12);
    equal(turns.slice(9), [2, 2, 1]);
    equal(decided, [0, 1, 2, 3, 4]);
  },

  async an_item_whose_signal_fires_before_its_turn_is_not_decided(stack) {
    const held = await stack.lock("a").acquire();
    const sale = new GroupCommit(new Sale(stack));
    const stop = new AbortController();
    const submit = (number: number, signal?: AbortSignal, own?: AbortSignal) =>
      sale.submit(stack.lock("a", { wait: 20_000, signal }), order(number), { signal: own });
    // The first drives the turn, which goes on for the others.
    const hangUp = [thrown(submit(0, stop.signal)), thrown(submit(1, stop.signal)), thrown(submit(3, undefined, stop.signal))];
    const third = submit(2);
    await eventually(async () => (await stack.lock("a").inspect()).waiters === 1);
    const reason = new Error("the client hung up");
    stop.abort(reason);
    for (const error of await Promise.all(hangUp)) check(error === reason, `${error}`);
    await held.release();
    equal((await third)?.left, 99);
    equal(await stack.redis("HKEYS ~orders"), ["2"]);
  },

  async a_turn_that_all_have_left_writes_nothing_and_frees_the_lock(stack) {
    const held = await stack.lock("a").acquire();
    const sale = new GroupCommit(new Sale(stack));
    const gone = new AbortController();
    const left = thrown(sale.submit(stack.lock("a", { wait: 20_000, signal: gone.signal }), order(0)));
    await eventually(async () => (await stack.lock("a").inspect()).waiters === 1);
    gone.abort();
    await left;
    await held.release();
    equal((await sale.submit(stack.lock("a"), order(1)))?.left, 99);
    equal(await stack.redis("HKEYS ~orders"), ["1"]);
    await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
  },

  async callers_that_ask_for_other_replicas_share_no_turn(stack) {
    const sale = new GroupCommit(new Sale(stack));
    const careful = stack.lock("a", { waitForReplicas: { count: 1, within: 50 } });
    const [plain, refused] = await Promise.allSettled([sale.submit(stack.lock("a"), order(0)), sale.submit(careful, order(1))]);
    equal(left([plain]), [99]);
    // There are none.
    equal(reason(refused).code, "not_replicated");
  },

  async items_whose_replies_are_too_large_together_have_smaller_turns(stack) {
    const large = { key: `${stack.mark}large` };
    const x = (count: number) => "x".repeat(count);
    await stack.redis(`SET ~large ${x(40_000)}`);
    const decided: number[] = [];
    const group = new GroupCommit({
      // Each reads it at another place, so nothing is read once for all.
      reads: (item: number) => [["GETRANGE", large, 0, -1 - item]],
      decide: (item: number, [text]) => (decided.push(item), { answer: String(text).length }),
    });
    const items = Array.from({ length: 40 }, (_, item) => item);
    equal(await Promise.all(items.map((item) => group.submit(stack.lock("a"), item))), items.map((item) => 40_000 - item));
    equal(decided, items);
    await stack.redis(`SET ~large ${x(2_000_000)}`);
    // One that is too large alone is told so, and those beside it are decided.
    const [own, beside] = [thrown(group.submit(stack.lock("a"), 0)), group.submit(stack.lock("a"), 1_999_000)];
    const error = await own;
    check(error instanceof CommandFailedError && error.message.includes("over 1 MiB"), `${error}`);
    equal(await beside, 1_000);
  },

  async an_item_that_fails_in_each_turn_leaves_the_others_half_of_what_they_have_alone(stack) {
    await stack.redis("SET ~text x");
    await stack.redis(`SET ~large ${"x".repeat(2_000_000)}`);
    const key = (name: string) => ({ key: `${stack.mark}${name}` });
    const [count, text, large] = [key("count"), key("text"), key("large")];
    // More than 256 KiB. Keys are counted twice.
    const [long, x] = [key("x".repeat(150_000)), "x".repeat(300_000)];
    const reads: Record<string, Command> = { "fails to read": ["GETRANGE", text, "a", "b"], "reads too much": ["GET", large], "is large to read": ["GET", long] };
    const writes: Record<string, Command> = { "fails to write": ["INCR", text], "writes too much": ["GET", large], "is large to write": ["SET", key("other"), x] };
    const fails = ["fails to read", "fails to write", "reads too much"];
    const section: Section<string, number, { count: number }> = {
      begin: () => ({ count: -1 }),
      reads: (item) => [["GET", count], ...(reads[item] ? [reads[item]] : [])],
      decide: (item, [found], state) => {
        state.count = (state.count < 0 ? Number(found) : state.count) + 1;
        return { answer: state.count, writes: [writes[item] ?? ["INCR", count]] };
      },
    };
    // How many requests 400 good items cost, of twenty callers, beside so many that have bad ones.
    const cost = async (bad = "", others = 0): Promise<number> => {
      const [group, network] = [new GroupCommit(section), new Network()];
      const lock = stack.client(network).lock("a", { wait: 20_000 });
      let left = 400;
      const goods = Array.from({ length: 20 }, async () => {
        while (left-- > 0) await group.submit(lock, "good");
      });
      const bads = Array.from({ length: others }, async () => {
        while (left > 0) {
          const told = await group.submit(lock, bad).catch((error: unknown) => error);
          check(fails.includes(bad) ? told instanceof CommandFailedError : typeof told === "number", `${told}`);
        }
      });
      await Promise.all([...goods, ...bads]);
      return network.seen.length;
    };
    const alone = await cost();
    for (const bad of [...Object.keys(reads), ...Object.keys(writes)]) {
      for (const others of [1, 4]) {
        const beside = await cost(bad, others);
        console.log(`requests for 400 items: alone ${alone}, beside one of ${others} that ${bad} ${beside}`);
        // The bad ones may have every other turn to themselves.
        check(beside <= 2 * alone + 4, `${beside}, not ${alone}`);
      }
    }
  },

  async if_a_command_of_the_whole_turn_fails_its_items_are_unknown(stack) {
    await stack.redis("SET ~text x");
    const text = { key: `${stack.mark}text` };
    const notes = new Notes(stack);
    const group = new GroupCommit<Written, number>({ reads: notes.reads, decide: (item) => notes.decide(item), end: () => [["RPUSH", text, 1]] });
    const error = await thrown(group.submit(stack.lock("a"), { number: 0, writes: [note] }));
    check(error instanceof EdgelockError && error.isOutcomeUnknown && error.message.includes("WRONGTYPE"), `${error}`);
    // Its own command was executed.
    equal(await stack.redis("LLEN ~notes"), 1);
  },

  async an_item_changes_nothing_of_what_others_read(stack) {
    await stack.redis("HSET ~stock left 5");
    const group = new GroupCommit({
      reads: () => [["HMGET", { key: `${stack.mark}stock` }, "left", "none"]],
      decide: (_: number, [fields]) => ({ answer: (fields as string[]).shift() }),
    });
    equal(await Promise.all([0, 1, 2].map((item) => group.submit(stack.lock("a"), item))), ["5", "5", "5"]);
  },

  async a_look_that_hangs_costs_the_items_of_others_nothing_but_time(stack) {
    const note = { key: `${stack.mark}note` };
    const group = new GroupCommit<number, number>({
      reads: () => [["GET", note]],
      peek: () => undefined,
      decide: (item) => ({ answer: item, writes: [["SET", note, item]] }),
    });
    const gone = new AbortController();
    const deaf = stack.client({ requestTimeout: 60_000, fetch: () => new Promise(() => {}) });
    const hangs = thrown(group.submit(deaf.lock("a", { wait: 60_000, signal: gone.signal }), 0));
    equal(await group.submit(stack.client({ requestTimeout: 500 }).lock("a", { wait: 20_000 }), 1), 1);
    gone.abort();
    await hangs;
  },

  async a_request_is_counted_in_bytes_of_utf8(stack) {
    const { turns, onEvent } = watchTurns();
    const group = new GroupCommit<number, number>(
      { reads: (item) => [["GET", { key: `${stack.mark}${"水".repeat(20)}${item}` }]], decide: (answer) => ({ answer }) },
      // There is room for two if characters are counted.
      { maxBytes: 200 },
    );
    const { length } = stack.mark;
    check(length < 20, `${length}`);
    equal(await Promise.all([0, 1].map((item) => group.submit(stack.client({ onEvent }).lock("a"), item))), [0, 1]);
    await eventually(() => turns.length === 2);
  },

  async an_item_that_left_while_its_turn_was_under_way_is_in_no_later_one(stack) {
    await stack.redis("SET ~text x");
    const sale = new GroupCommit(new Sale(stack));
    const stop = new AbortController();
    let requests = 0;
    const client = stack.client({
      // The third request is the acquisition of the second turn, one of whose reads will fail.
      fetch: async (url, init) => {
        if (++requests === 3) stop.abort();
        return fetch(url, init);
      },
    });
    const submit = (order: Order, signal?: AbortSignal) => sale.submit(client.lock("a", { signal }), order);
    const first = submit(order(0));
    await eventually(() => requests >= 1);
    const others = [submit(order(1), stop.signal), submit({ number: 2, bad: "read" }), submit(order(3))];
    const outcomes = await Promise.allSettled([first, ...others]);
    equal(outcomes.map(({ status }) => status), ["fulfilled", "rejected", "rejected", "fulfilled"]);
    equal(await stack.redis("HKEYS ~orders"), ["0", "3"]);
  },

  async a_driver_that_is_gone_before_its_commit_leaves_its_items_to_the_next(stack) {
    const sale = new Sale(stack);
    const group = new GroupCommit(sale);
    // Its requests stand still until the host goes on.
    let goOn = () => {};
    const stood = new Promise<void>((resolve) => (goOn = resolve));
    const network = new Network();
    const client = stack.client({ requestTimeout: 3_000, fetch: (url, init) => stood.then(() => network.fetch(url, init)) });
    const driver = thrown(withoutBeats(() => group.submit(client.lock("a"), order(0))));
    equal((await group.submit(stack.client({ requestTimeout: 800 }).lock("a"), order(1)))?.left, 99);
    const error = await driver;
    check(error instanceof EdgelockError && error.code === "unavailable" && !error.isOutcomeUnknown, `${error}`);
    // Its request goes on, though the turn has ended without it.
    goOn();
    await eventually(async () => network.seen.length === 1 && (await stack.redis("EXISTS ~a")) === 0);
    equal(await stack.redis("HKEYS ~orders"), ["1"]);
    equal(sale.decided, 1);
  },

  async a_section_that_does_not_answer_at_once_is_told_so(stack) {
    const sound: Section<number, number> = { reads: () => [], decide: (answer) => ({ answer, writes: [["RPUSH", { key: `${stack.mark}notes` }, 1]] }) };
    const late = (item: number) => (item === 1 ? Promise.reject(new Error("nobody hears it")) : undefined);
    const parts = {
      reads: (item: number) => late(item) ?? [],
      peek: late,
      decide: (item: number) => late(item) ?? sound.decide(item, [], undefined, 0),
    };
    for (const [part, does] of Object.entries(parts)) {
      await stack.redis("DEL ~notes");
      const group = new GroupCommit<number, number>({ ...sound, [part]: does });
      const outcomes = await Promise.allSettled([0, 1, 2].map((item) => group.submit(stack.lock("a"), item)));
      equal(outcomes.map(said), [0, `InvalidArgumentError: invalid argument: ${part} says at once what it says: it is not async`, 2]);
      equal(await stack.redis("LLEN ~notes"), 2);
    }
    // An error in `begin` or `end` fails all items.
    for (const part of ["begin", "end"]) {
      const group = new GroupCommit<number, number>({ ...sound, [part]: () => late(1) });
      await fails("invalid_argument", group.submit(stack.lock("a"), 0));
    }
    for (const nothing of [undefined, null, 7, "sold"]) {
      const group = new GroupCommit<number, number>({ ...sound, decide: () => nothing as never });
      await fails("invalid_argument", group.submit(stack.lock("a"), 0));
    }
    for (const nothing of [null, 7, true]) {
      const group = new GroupCommit<number, number>({ ...sound, peek: () => nothing as never });
      await fails("invalid_argument", group.submit(stack.lock("a"), 0));
    }
    equal(await stack.redis("LLEN ~notes"), 2);
    // If a promise had failed unhandled, the host would end, or say so.
    await sleep(0);
  },

  async a_host_that_takes_no_background_work_any_more_costs_nobody_an_answer(stack) {
    const waitUntil = () => {
      throw new TypeError("it is too late for that");
    };
    const outcomes = await place(stack, new GroupCommit(new Sale(stack)), orders(4), { waitUntil });
    equal(left(outcomes), [99, 98, 97, 96]);
  },

  async a_driver_is_not_taken_for_gone_by_a_caller_with_less_time_for_a_request(stack) {
    const held = await stack.lock("a").acquire();
    const group = new GroupCommit(new Sale(stack));
    const submit = (requestTimeout: number, number: number) => group.submit(stack.client({ requestTimeout }).lock("a"), order(number));
    const placed = Promise.all([submit(60_000, 0), submit(100, 1), submit(100, 2)]);
    // Waiting callers look every 50 ms.
    await sleep(500);
    await held.release();
    equal((await placed).map((sold) => sold?.left), [99, 98, 97]);
  },

  async what_is_no_section_is_told_so(stack) {
    const reads = () => [];
    const decide = () => ({ answer: 1 });
    for (const section of [null, 1, {}, { reads }, { decide }, { reads, decide, peek: 1 }, { reads, decide, usesFence: 0 }, { reads, decide, begin: {} }]) {
      await fails("invalid_argument", () => new GroupCommit(section as never));
    }
    await fails("invalid_argument", () => new GroupCommit({ reads, decide }, { maxItems: -1 }));
    const group = new GroupCommit({ reads, decide });
    await fails("invalid_argument", group.submit({} as never, 1));
    equal(await group.submit(stack.lock("a"), 1), 1);
    const broken = new GroupCommit({ reads, decide, begin: () => { throw new RangeError("no state"); } });
    check((await thrown(broken.submit(stack.lock("a"), 1))) instanceof RangeError, "it is told what is wrong");
    await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
    await sleep(0);
  },
};
