// The examples, called as their hosts call them, and other services around them.
import { Lock as UpstashLock } from "@upstash/lock";
import { Redis } from "@upstash/redis";
import { handler as coupon } from "../examples/coupons.js";
import cron from "../examples/cron.js";
import { GET, POST } from "../examples/edge_route.js";
import { once } from "../examples/every_minute.js";
import firstLock from "../examples/first_lock.js";
import flashSale from "../examples/flash_sale.js";
import hono from "../examples/hono_route.js";
import * as kinds from "../examples/kinds.js";
import { lead } from "../examples/leader.js";
import webhook from "../examples/payment_webhook.js";
import consumer from "../examples/queue_consumer.js";
import seats from "../examples/seat.js";
import { accessToken, type Tokens } from "../examples/token_refresh.js";
import { check, equal, eventually, fails, Network, Stack, type Suite, take, thrown } from "./harness.js";

const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };

const env = ({ bridge }: Stack): Record<string, string> => ({ UPSTASH_REDIS_REST_URL: bridge.url, UPSTASH_REDIS_REST_TOKEN: bridge.credential });

const times = <T>(count: number, make: (index: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, i) => make(i)));

/** Places an order at the flash sale. */
function place(stack: Stack, sku: string, order: string, buyer: string, quantity: number): Promise<Response> {
  const url = `http://shop/sales/${sku}/orders?order=${order}&buyer=${buyer}&quantity=${quantity}`;
  return flashSale.fetch(new Request(url, { method: "POST" }), env(stack), context);
}

/** A service behind an example that asks it once for each delivery, however often that comes. */
class Service {
  /** What it was asked for, by its id. */
  readonly done = new Map<string, unknown>();
  asked = 0;
  /** What happens to the first request. */
  first: () => Promise<unknown> = async () => undefined;

  async ask(id: string, what: unknown): Promise<void> {
    this.done.set(id, what);
    if (this.asked++ === 0) await this.first();
  }
}

/** The provider sends an event. */
const notify = (stack: Stack, service: Service, cents = 700): Promise<Response> => {
  const body = JSON.stringify({ id: stack.mark, account: "ann", cents });
  const fetch = async (request: Request) => {
    const answer = await service.ask(new URL(request.url).pathname, await request.json()).catch(() => "away");
    return new Response(null, { status: answer === "away" ? 500 : 204 });
  };
  return webhook.fetch(new Request("http://shop/payments", { method: "POST", body }), { ...env(stack), LEDGER: { fetch } }, context);
};

/** Delivers something, for which `key` is locked. Returns whether it is not to come again. */
interface Delivery {
  readonly key: string;
  readonly deliver: (stack: Stack, service: Service) => Promise<boolean>;
}

const DELIVERIES: Readonly<Record<string, Delivery>> = {
  "a payment": {
    key: "payment",
    deliver: (stack, service) => notify(stack, service).then(({ status }) => status === 201, () => false),
  },
  "an order": {
    key: "confirmation",
    async deliver(stack, service) {
      let isDone = false;
      const send = (to: string, text: string) => service.ask(to, text).then(() => ({ id: "mail" }));
      const message = { body: { id: stack.mark, to: "ann@example.com" }, ack: () => void (isDone = true), retry: () => {} };
      await consumer.queue({ messages: [message] }, { ...env(stack), MAIL: { send } }, context);
      return isDone;
    },
  },
};

/** Holds each to a promise, with names and a service of its own. */
const each = (promise: (stack: Stack, service: Service, delivery: Delivery) => Promise<void>) => async ({ bridge }: Stack) => {
  for (const [what, delivery] of Object.entries(DELIVERIES)) {
    await promise(new Stack(bridge), new Service(), delivery).catch((error: Error) => Promise.reject(new Error(`${what}: ${error.stack}`)));
  }
};

/** Loses the answer to the next request that stores a result. */
async function losingAnswer(work: () => Promise<unknown>): Promise<void> {
  const real = globalThis.fetch;
  let isLost = false;
  globalThis.fetch = async (input, init) => {
    const response = await real(input, init);
    if (isLost || !String(init?.body).includes(":result") || !String(init?.body).includes('"SET"')) return response;
    isLost = true;
    await response.text();
    throw new TypeError("lost");
  };
  try {
    await work();
  } finally {
    globalThis.fetch = real;
  }
  check(isLost, "an answer was lost");
}

export const examples: Suite = {
  async a_first_lock_sells_five_and_no_more(stack) {
    await stack.redis("DEL {sku:43}:stock sku:43");
    const texts = await times(8, async () => (await firstLock.fetch(new Request("http://shop/"), env(stack), context)).text());
    equal(texts.filter((text) => text.startsWith("sold one")).length, 5);
    equal(texts.filter((text) => text === "sold out\n").length, 3);
  },

  async a_flash_sale_sells_its_stock_and_answers_an_order_once(stack) {
    const sku = stack.mark.slice(0, 8);
    await stack.redis(`SET sale:{${sku}}:stock 10`);
    const buy = (order: string, quantity: number) => place(stack, sku, order, order, quantity);
    // Each order is sent twice.
    const answers = await times(24, async (i) => (await buy(`order-${i % 12}`, 1)).json() as Promise<{ order: string; quantity: number }>);
    const sold = new Map(answers.map(({ order, quantity }) => [order, quantity]));
    equal([...sold.values()].reduce((sum, quantity) => sum + quantity), 10);
    equal(await stack.redis(`GET sale:{${sku}}:stock`), "0");
    equal((await buy("late", 1)).status, 409);
    equal((await buy("odd", 0.5)).status, 400);
  },

  async two_of_a_hair_dryer_are_not_sold_as_three(stack) {
    const sku = stack.mark.slice(0, 8);
    await stack.redis(`SET sale:{${sku}}:stock 2`);
    const statuses = await times(2, async (i) => (await place(stack, sku, `${i}`, `${i}`, i + 1)).status);
    equal(statuses.sort(), [200, 409]);
  },

  async a_customer_of_the_flash_sale_gets_two_and_no_more_however_many_orders_come_at_once(stack) {
    const sku = stack.mark.slice(0, 8);
    await stack.redis(`SET sale:{${sku}}:stock 10`);
    const answers = await times(6, async (i) => place(stack, sku, `order-${i}`, i < 5 ? "ann" : "bob", 1));
    equal(answers.map(({ status }) => status).sort(), [200, 200, 200, 409, 409, 409]);
    // Later orders are refused too, by a look. For what she has, she gets the same answer again.
    const late = await place(stack, sku, "late", "ann", 1);
    equal([late.status, await late.json()], [409, { order: "late", quantity: 0, left: 7, refused: "limit reached" }]);
    const [had] = answers.filter(({ status }, i) => status === 200 && i < 5);
    const { order } = (await had!.json()) as { order: string };
    equal((await place(stack, sku, order, "ann", 1)).status, 200);
    equal([await stack.redis(`HGET sale:{${sku}}:buyers ann`), await stack.redis(`GET sale:{${sku}}:stock`)], ["2", "7"]);
  },

  async a_cart_is_paid_once_however_often_its_button_is_pressed(stack) {
    const path = `http://shop/carts/${stack.mark.slice(0, 8)}/checkout`;
    const answers = await times(4, async () => (await hono.request(path, { method: "POST" }, env(stack), context)).json() as Promise<{ paid: string }>);
    equal(answers.map(({ paid }) => paid).sort(), ["before", "before", "before", "now"]);
    equal((await hono.request(path, { method: "POST" }, { ...env(stack), UPSTASH_REDIS_REST_TOKEN: "wrong" }, context)).status, 503);
  },

  async a_report_is_made_by_one_at_a_time_and_read_by_all(stack) {
    await stack.redis("DEL report {report}:text");
    const read = () => GET(new Request("http://site/report"));
    equal((await read()).status, 404);
    const make = () => POST(new Request("http://site/report", { method: "POST", body: "locks" }));
    const statuses = await times(3, async () => (await make()).status);
    check(statuses.includes(201) && statuses.every((status) => [201, 202].includes(status)), statuses.join());
    equal(await (await read()).text(), "All about locks.");
    equal((await make()).status, 201);
  },

  async each_user_gets_one_coupon_and_the_last_one_is_the_last(stack) {
    const campaign = stack.mark.slice(0, 8);
    await stack.redis(`SET coupons:{${campaign}}:left 3`);
    const ask = (user: string) => coupon({ campaign, user });
    equal((await ask("ann")).statusCode, 200);
    equal(await ask("ann"), { statusCode: 409, body: "you have one" });
    // A user who finds the lock held tries again, or fails and asks again. Nobody gets two.
    const answers = await times(4, (i) => ask(`user-${i % 2}`));
    check(answers.every(({ statusCode }) => [200, 409, 503].includes(statusCode)), JSON.stringify(answers));
    for (const user of ["user-0", "user-1"]) await ask(user);
    equal(await ask("eve"), { statusCode: 409, body: "none left" });
    equal(await stack.redis(`SCARD coupons:{${campaign}}:users`), 3);
  },

  async a_coupon_whose_lock_stays_taken_fails_after_five_more_tries(stack) {
    const campaign = stack.mark.slice(0, 8);
    await stack.redis(`SET coupons:{${campaign}} another PX 60000`);
    equal(await coupon({ campaign, user: "ann" }), { statusCode: 503, body: "failed: too many at once" });
  },

  async a_daily_job_is_done_once_however_many_clocks_strike(stack) {
    const scheduledTime = Date.UTC(2026, 10, 21, 12);
    await stack.redis("DEL daily {daily}:2026-11-21");
    const outcomes = await times(4, () => cron.scheduled({ scheduledTime }, env(stack), context));
    equal(outcomes.filter((outcome) => outcome === "done").length, 1);
    equal(await cron.scheduled({ scheduledTime }, env(stack), context), "done before");
  },

  async a_seat_is_booked_by_the_request_that_has_its_token(stack) {
    const [client, seat] = [stack.client({ prefix: "" }), stack.mark];
    const token = (await kinds.reserve(client, seat))!;
    await fails("held", kinds.reserve(client, seat));
    const stranger = "A".repeat(token.length);
    await fails("lost", kinds.book(client, seat, stranger, "bob"));
    check((await kinds.book(client, seat, token, "ann")) > 0, "it learned its fence");
    equal(await stack.redis(`GET {seat:${seat}}:buyer`), "ann");
    equal(await kinds.reserve(client, seat), null);
  },

  async a_job_is_done_by_one_machine_and_not_again_for_a_while(stack) {
    const client = stack.client();
    let [done, isOpen] = [0, false];
    const work = async () => {
      done++;
      await eventually(() => isOpen);
    };
    const machines = times(4, () => once(client, "mails", work, 60_000));
    await eventually(() => done === 1);
    isOpen = true;
    equal((await machines).filter(Boolean).length, 1);
    // A machine whose clock is late.
    equal([await once(client, "mails", work, 60_000), done], [false, 1]);
    const left = Number(await stack.redis("PTTL ~job:mails"));
    check(left > 30_000 && left <= 60_000, `${left} ms`);
    // Work that took longer, or failed, keeps nobody out.
    equal([await once(client, "brief", work, 0), await once(client, "brief", work, 0), done], [true, true, 3]);
    equal(((await thrown(once(client, "fails", () => Promise.reject(new Error("no post"))))) as Error).message, "no post");
    equal(await once(client, "fails", work), true);
  },

  async a_seat_is_held_by_one_request_and_booked_by_the_next(stack) {
    const seat = stack.mark.slice(0, 8);
    const ask = (step: string, cookie = "", body = "ann") =>
      seats.fetch(new Request(`https://shop/seats/${seat}/${step}`, { method: "POST", body, headers: { cookie } }), env(stack), context);
    const held = await ask("hold");
    const [cookie] = held.headers.get("set-cookie")!.split(";");
    equal([held.status, (await ask("hold")).status, (await ask("book")).status], [201, 409, 409]);
    equal((await ask("book", `seat=${"A".repeat(22)}`, "bob")).status, 410);
    equal([(await ask("book", `theme=dark; ${cookie}`)).status, await stack.redis(`GET {seat:${seat}}:buyer`)], [200, "ann"]);
    equal([(await ask("book", cookie)).status, (await ask("hold")).status], [410, 410]);
    await stack.redis(`DEL {seat:${seat}}:buyer`);
  },

  async a_refresh_token_is_used_once_however_many_need_the_access_token(stack) {
    const [client, network] = [stack.client(), new Network()];
    const account = stack.mark.slice(0, 8);
    const key = `{oauth:${account}}:tokens`;
    const issued = (turn: number, ends: number): Tokens => ({ access: `access-${turn}`, refresh: `refresh-${turn}`, ends });
    await stack.redis(`SET ${key} ${JSON.stringify(issued(0, 0))}`);
    const used: string[] = [];
    const exchange = async (refresh: string) => {
      used.push(refresh);
      return issued(used.length, Date.now() + 3_600_000);
    };
    equal(await times(6, () => accessToken(client, account, exchange)), Array(6).fill("access-1"));
    equal(used, ["refresh-0"]);
    // From then on it costs one request.
    equal([await accessToken(stack.client({ ...network }), account, exchange), network.seen.length], ["access-1", 1]);
    await stack.redis(`SET ${key} ${JSON.stringify(issued(1, 0))}`);
    equal(((await thrown(accessToken(client, account, () => Promise.reject(new Error("the partner is away"))))) as Error).message, "the partner is away");
    equal([await accessToken(client, account, exchange), used], ["access-2", ["refresh-0", "refresh-1"]]);
    await stack.redis(`DEL ${key}`);
  },

  async one_process_leads_and_another_follows_it(stack) {
    const leads: string[] = [];
    const stops = [new AbortController(), new AbortController()];
    const begin = (name: string, stop: AbortController) =>
      lead(stack.client(), (signal) => {
        leads.push(name);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }, stop.signal);
    const first = begin("first", stops[0]!);
    await eventually(() => leads.length === 1);
    const second = begin("second", stops[1]!);
    stops[0]!.abort();
    await first;
    await eventually(() => leads.length === 2);
    stops[1]!.abort();
    await second;
    equal(leads, ["first", "second"]);
  },

  async a_payment_that_is_notified_twenty_times_at_once_is_booked_once(stack) {
    const ledger = new Service();
    const answers = await times(20, async () => notify(stack, ledger));
    for (const answer of answers) equal([answer.status, await answer.text()], [201, `{"booked":700}`]);
    equal([ledger.asked, answers.filter(({ headers }) => headers.has("idempotent-replayed")).length], [1, 19]);
    // The same id with another sum is no repeat.
    equal((await notify(stack, ledger, 900)).status, 422);
    equal([...ledger.done.values()], [{ account: "ann", cents: 700 }]);
  },

  what_is_delivered_twenty_times_at_once_is_done_once: each(async (stack, service, { deliver }) => {
    await times(20, async () => {
      while (!(await deliver(stack, service)));
    });
    equal(service.asked, 1);
  }),

  what_dies_half_way_is_done_by_the_next: each(async (stack, service, { key, deliver }) => {
    service.first = () => new Promise(() => {});
    const dead = deliver(stack, service);
    await eventually(() => service.asked === 1);
    const next = deliver(stack, service);
    // As if the ttl of the first had ended in Redis.
    await stack.redis(`DEL ${key}:${stack.mark}`);
    equal([await next, await dead, await deliver(stack, service), service.asked], [true, false, true, 2]);
  }),

  what_fails_half_way_is_done_by_the_next: each(async (stack, service, { deliver }) => {
    service.first = () => Promise.reject(new Error("away"));
    equal([await deliver(stack, service), await deliver(stack, service), service.asked], [false, true, 2]);
  }),

  what_is_done_is_not_done_again_though_its_answer_is_lost: each(async (stack, service, { deliver }) => {
    await losingAnswer(async () => equal(await deliver(stack, service), true));
    equal([await deliver(stack, service), service.asked], [true, 1]);
  }),

  async a_lock_of_upstash_lock_excludes_and_is_excluded(stack) {
    const id = `${stack.mark}a`;
    const theirs = new UpstashLock({ id, redis: new Redis({ url: stack.bridge.url, token: stack.bridge.credential, enableTelemetry: false }), lease: 10_000, retry: { attempts: 1, delay: 1 } });
    equal(await theirs.acquire(), true);
    equal(await stack.lock("a").tryAcquire(), null);
    equal(await theirs.release(), true);
    await using lease = await take(stack.lock("a"));
    equal(await theirs.acquire(), false);
    check(lease.remaining > 0, "it is ours");
  },

  async each_kind_does_what_its_example_says(stack) {
    const client = stack.client();
    const lamp = `${stack.mark}lamp`;
    await stack.redis(`SET {${lamp}}:stock 2`);
    const sell = () => kinds.sellOne(client, lamp);
    equal([await sell(), await sell(), await sell()], [true, true, false]);
    equal(await kinds.rebuildIndex(client, async ({ fence }) => (fence > 0 ? 7 : 0)), 7);
    const aborted = (signal: AbortSignal) => new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const older = thrown(kinds.answer(client, aborted));
    await eventually(async () => (await client.lock("chat:7").inspect()).holder !== null);
    equal(await kinds.answer(client, async () => "the latest"), "the latest");
    equal([((await older) as { code?: string }).code, await stack.redis("DEL {chat:7}:said")], ["lost", 1]);
    let [begun, inside, most] = [0, 0, 0];
    const call = async () => {
      begun++;
      most = Math.max(most, ++inside);
      await eventually(() => begun >= 3);
      inside--;
      return "called";
    };
    await times(6, () => kinds.callPartner(client, call));
    check(most === 3, `${most} at once`);
    [begun, most] = [0, 0];
    await times(6, (index) => kinds.convert(client, `tenant-${index % 3}`, call));
    check(most === 3, `${most} of three tenants at once`);
    const shirt = `${stack.mark}shirt`;
    const token = await kinds.putInCart(client, shirt, "ann", 3);
    await fails("owner_limit", kinds.putInCart(client, shirt, "ann", 2));
    await kinds.pay(client, shirt, token, "order-1");
    await fails("confirmed", kinds.pay(client, shirt, token, "order-1"));
    equal((await client.reservations(shirt, 100).inspect()).confirmed, 3);
    equal(await kinds.price(client, async () => 42), 42);
    const seen: string[] = [];
    await kinds.reprice(
      client,
      async () => void seen.push("written"),
      async () => void seen.push(`read ${await kinds.price(client, async () => 43)} meanwhile`),
    );
    equal(seen, ["written", "read 43 meanwhile"]);
    const account = (name: string) => `{bank}:${stack.mark}${name}`;
    const send = (from: string, to: string) => kinds.transfer(client, `${stack.mark}${from}`, `${stack.mark}${to}`, 10);
    await Promise.all([send("ann", "bob"), send("bob", "ann"), send("ann", "bob")]);
    const balances = await client.read(["ann", "bob"].map((name) => ["GET", { key: `${account(name)}:balance` }]));
    equal(balances, ["-10", "10"]);
    const paid = () => kinds.charge(client, stack.mark, async () => "ch-1");
    equal([await paid(), await paid()], ["ch-1", "ch-1, as before"]);
    equal([await kinds.prices(client, async () => [7]), await kinds.prices(client, async () => [8])], [[7], [7]]);
    let sent = 0;
    const report = () => kinds.sendReport(client, async () => void sent++);
    const later = [await report(), await report()];
    check(sent === 1 && later[0] === 0 && later[1]! > 0, `${sent} were sent, and ${later} told`);
    equal(await kinds.edited(client, "page", async () => 7), 7);
    equal(await kinds.inOneSaga(client, "saga-1", () => kinds.inOneSaga(client, "saga-1", async () => "inside")), "inside");
    const page = `${stack.mark}page`;
    equal(await times(3, () => kinds.visits.submit(client.lock(page), page)), [1, 2, 3]);
  },
};
