// Shared turns of requests to a Worker, in workerd. Each request can go on only by events of its
// own, and is gone when its caller hangs up.
import { Between } from "./between.js";
import { check, equal, eventually, runTests, Stack } from "./harness.js";
import { post, serve } from "./serve.js";
import type { Asked, Told } from "./turns_worker.js";

const [, , workerd = "", folder = ""] = process.argv;
const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
const { worker } = await serve(workerd, folder);

/** Stands before the bridge, and holds requests up. */
class Gate {
  seen = 0;
  answered = 0;
  /** The number of the request whose answer does not come back. */
  withheld = Infinity;
  /** Requests from this number on do not arrive until the gate is opened. */
  #closedAt = Infinity;
  #opened: Array<() => void> = [];
  readonly server = new Between(url, () => {
    let number = 0;
    const before = async () => {
      number = ++this.seen;
      if (number >= this.#closedAt) await new Promise<void>((go) => this.#opened.push(go));
      return false;
    };
    return { before, behind: () => ++this.answered > 0 && number === this.withheld };
  });

  closeAt(request: number): void {
    this.#closedAt = request;
  }

  /** Lets all requests pass, up to that number. */
  open(closedAt = Infinity): void {
    this.#closedAt = closedAt;
    for (const go of this.#opened.splice(0)) go();
  }
}

/** A sale by the Worker, with a stock of 1,000. */
class Sale {
  readonly stack = new Stack({ url, credential });
  readonly gate = new Gate();
  #url = "";

  /** A sale whose requests, from this number on, do not arrive until its gate is opened. */
  static async closedAt(request: number): Promise<Sale> {
    const sale = new Sale();
    sale.gate.closeAt(request);
    sale.#url = await sale.gate.server.listen();
    await sale.stack.redis("SET ~stock 1000");
    return sale;
  }

  /** Places an order, and waits until the Worker has it. Returns its outcome. */
  async place(order: number, background: boolean, signal?: AbortSignal, heeds = false): Promise<{ readonly told: Promise<Told> }> {
    const before = await arrived();
    const asked: Asked = { url: this.#url, credential, prefix: this.stack.mark, background, heeds };
    const { sent, text } = post(`${worker}${order}`, asked);
    // To hang up is to reset the connection: workerd goes on if it is merely closed.
    signal?.addEventListener("abort", () => sent.socket?.resetAndDestroy());
    const told = text.then((text) => JSON.parse(text) as Told);
    told.catch(() => {});
    await eventually(async () => (await arrived()) > before);
    return { told };
  }

  /** One after another: the first drives the first turn, the second the next, for all others. */
  async placeAll(count: number, background: boolean, signals: ReadonlyMap<number, AbortSignal> = new Map(), heeds = false): Promise<Array<Promise<Told>>> {
    const told: Array<Promise<Told>> = [];
    for (let order = 0; order < count; order++) told.push((await this.place(order, background, signals.get(order), heeds)).told);
    return told;
  }

  /** No order was decided twice, and all that are known to be sold are there. */
  async check(sold: number): Promise<void> {
    const [stock, orders] = [Number(await this.stack.redis("GET ~stock")), Number(await this.stack.redis("HLEN ~orders"))];
    equal(stock + orders, 1_000);
    check(orders >= sold, `${sold} were told that they are sold, of ${orders}`);
    this.gate.server.close();
  }
}

const arrived = async (): Promise<number> => Number(await (await fetch(worker)).text());
const lefts = (told: readonly Told[]) => told.map((told) => ("left" in told ? told.left : told.code));

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);
const each = <Value>(orders: readonly number[], value: Value): Map<number, Value> => new Map(orders.map((order) => [order, value]));

/** The driver of the second turn, of 9, hangs up while that request of it is held up. */
async function hangUp(request: 3 | 4, background: boolean): Promise<{ readonly sale: Sale; readonly others: Promise<Told[]> }> {
  const sale = await Sale.closedAt(2);
  const stop = new AbortController();
  const told = await sale.placeAll(10, background, each([1], stop.signal));
  sale.gate.open(request);
  equal(lefts([await told[0]!]), [999]);
  await eventually(() => sale.gate.seen >= request);
  stop.abort();
  return { sale, others: Promise.all(told.slice(2)) };
}

const tests = {
  async a_hundred_requests_at_once_share_two_turns() {
    const sale = await Sale.closedAt(1);
    const told = await sale.placeAll(100, true);
    sale.gate.open();
    const answers = await Promise.all(told);
    equal(lefts(answers), numbers(0, 100).map((order) => 999 - order));
    equal([new Set(answers.map((told) => "fence" in told && told.fence)).size, sale.gate.seen], [2, 4]);
    await sale.check(100);
  },

  async callers_that_hang_up_while_they_wait_cost_the_others_nothing() {
    const [sale, stop] = [await Sale.closedAt(1), new AbortController()];
    const stays = (order: number) => order % 3 !== 2;
    const told = await sale.placeAll(30, true, each(numbers(0, 30).filter((order) => !stays(order)), stop.signal));
    stop.abort();
    sale.gate.open();
    const answers = await Promise.all(told.filter((_, order) => stays(order)));
    check(answers.every((told) => "left" in told), JSON.stringify(answers));
    await sale.check(20);
  },

  async an_order_that_waits_alone_has_its_turn_though_its_caller_hung_up() {
    const [sale, stop] = [await Sale.closedAt(2), new AbortController()];
    await sale.placeAll(2, true, each([1], stop.signal));
    stop.abort();
    sale.gate.open();
    await eventually(async () => (await sale.stack.redis("HLEN ~orders")) === 2);
    await sale.check(2);
  },

  /** The first nine that wait are gone: the driver calls more and more, until one comes. */
  async whoever_waits_behind_callers_that_hung_up_is_called_to_drive() {
    const [sale, stop] = [await Sale.closedAt(2), new AbortController()];
    const told = await sale.placeAll(14, true, each(numbers(1, 10), stop.signal));
    stop.abort();
    sale.gate.open();
    // They look for themselves less often than they wait here.
    const answers = await Promise.all([told[0]!, ...told.slice(10)]);
    check(answers.every((told) => "left" in told), JSON.stringify(answers));
    await sale.check(5);
  },

  async an_order_whose_caller_hangs_up_before_its_turn_begins_is_not_placed() {
    const [sale, stop] = [await Sale.closedAt(2), new AbortController()];
    const signals = each(numbers(2, 7), stop.signal);
    const told = await sale.placeAll(10, true, signals, true);
    stop.abort();
    // workerd reports what happened before these requests before it answers them.
    for (let requests = 0; requests < 20; requests++) await arrived();
    sale.gate.open();
    equal(lefts(await Promise.all(told.filter((_, order) => !signals.has(order)))), [999, 998, 997, 996, 995]);
    equal(await sale.stack.redis("HLEN ~orders"), 5);
    await sale.check(5);
  },

  async a_driver_that_hangs_up_goes_on_in_the_background() {
    for (const request of [3, 4] as const) {
      const { sale, others } = await hangUp(request, true);
      sale.gate.open();
      equal(lefts(await others), [997, 996, 995, 994, 993, 992, 991, 990]);
      equal(sale.gate.seen, 4);
      await sale.check(10);
    }
  },

  async a_driver_that_is_gone_before_its_commit_leaves_its_items_to_the_next() {
    const { sale, others } = await hangUp(3, false);
    // The next driver sends that request.
    await eventually(() => sale.gate.seen > 3);
    sale.gate.open();
    equal(lefts(await others), [998, 997, 996, 995, 994, 993, 992, 991]);
    await sale.check(9);
  },

  /** The next driver does not wait for the ttl, which is as long as the others wait. */
  async a_driver_that_is_gone_while_it_acquires_leaves_the_lock_to_the_next() {
    const [sale, stop] = [await Sale.closedAt(2), new AbortController()];
    sale.gate.withheld = 3;
    const told = await sale.placeAll(10, false, each([1], stop.signal));
    sale.gate.open();
    equal(lefts([await told[0]!]), [999]);
    await eventually(() => sale.gate.answered === 3);
    stop.abort();
    equal(lefts(await Promise.all(told.slice(2))), [998, 997, 996, 995, 994, 993, 992, 991]);
    equal(sale.gate.seen, 5);
    await sale.check(9);
  },

  async a_driver_that_is_gone_behind_its_commit_leaves_its_items_unknown_and_those_alone() {
    const { sale, others } = await hangUp(4, false);
    for (const unknown of await others) check("isOutcomeUnknown" in unknown && unknown.isOutcomeUnknown, JSON.stringify(unknown));
    sale.gate.open();
    const next = await (await sale.place(10, false)).told;
    check("left" in next, JSON.stringify(next));
    await sale.check(2);
  },
};
runTests(Object.entries(tests), console.log).then((passed) => process.exit(passed ? 0 : 1));
