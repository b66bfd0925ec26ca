// The examples, as their hosts call them, and the neighbours that a service may come from.
import { Lock as UpstashLock } from "@upstash/lock";
import { Redis } from "@upstash/redis";
import { handler as coupon } from "../examples/coupons.js";
import cron from "../examples/cron.js";
import { GET, POST } from "../examples/edge_route.js";
import firstLock from "../examples/first_lock.js";
import flashSale from "../examples/flash_sale.js";
import hono from "../examples/hono_route.js";
import { check, equal, type Stack, type Suite, take } from "./harness.js";

const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };

function env({ bridge }: Stack): Record<string, string> {
  return { UPSTASH_REDIS_REST_URL: bridge.url, UPSTASH_REDIS_REST_TOKEN: bridge.credential };
}

const times = <T>(count: number, make: (index: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, i) => make(i)));

/** Orders at the flash sale. */
function place(stack: Stack, sku: string, order: string, buyer: string, quantity: number): Promise<Response> {
  const url = `http://shop/sales/${sku}/orders?order=${order}&buyer=${buyer}&quantity=${quantity}`;
  return flashSale.fetch(new Request(url, { method: "POST" }), env(stack), context);
}

export const examples: Suite = {
  async a_first_lock_sells_five_and_no_more(stack) {
    await stack.redis("DEL {sku:42}:stock sku:42");
    const texts = await times(8, async () => (await firstLock.fetch(new Request("http://shop/"), env(stack), context)).text());
    equal(texts.filter((text) => text.startsWith("sold one")).length, 5);
    equal(texts.filter((text) => text === "sold out\n").length, 3);
  },

  async a_flash_sale_sells_its_stock_and_answers_an_order_once(stack) {
    const sku = stack.mark.slice(0, 8);
    await stack.redis(`SET sale:{${sku}}:stock 10`);
    const buy = (order: string, quantity: number) => place(stack, sku, order, order, quantity);
    // Each order comes twice.
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
    // Later too, and known by a look; and what she had she is told again.
    const late = await place(stack, sku, "late", "ann", 1);
    equal([late.status, await late.json()], [409, { order: "late", quantity: 0, left: 7, refused: "limit reached" }]);
    const [had] = answers.filter(({ status }, i) => status === 200 && i < 5);
    const { order } = (await had!.json()) as { order: string };
    equal((await place(stack, sku, order, "ann", 1)).status, 200);
    equal([await stack.redis(`HGET sale:{${sku}}:buyers ann`), await stack.redis(`GET sale:{${sku}}:stock`)], ["2", "7"]);
  },

  async a_cart_is_paid_once_however_often_its_button_is_pressed(stack) {
    const path = `http://shop/carts/${stack.mark.slice(0, 8)}/checkout`;
    const answers = await times(4, async () => (await hono.request(path, { method: "POST" }, env(stack))).json() as Promise<{ paid: string }>);
    equal(answers.map(({ paid }) => paid).sort(), ["before", "before", "before", "now"]);
    equal((await hono.request(path, { method: "POST" }, { ...env(stack), UPSTASH_REDIS_REST_TOKEN: "wrong" })).status, 503);
  },

  async a_report_is_made_by_one_at_a_time_and_read_by_all(stack) {
    await stack.redis("DEL report {report}:text");
    equal((await GET()).status, 404);
    const make = () => POST(new Request("http://site/report", { method: "POST", body: "locks" }));
    const statuses = await times(3, async () => (await make()).status);
    check(statuses.includes(201) && statuses.every((status) => [201, 202].includes(status)), statuses.join());
    equal(await (await GET()).text(), "All about locks.");
    equal((await make()).status, 201);
  },

  async each_user_gets_one_coupon_and_the_last_one_is_the_last(stack) {
    const campaign = stack.mark.slice(0, 8);
    await stack.redis(`SET coupons:{${campaign}}:left 3`);
    const ask = (user: string) => coupon({ campaign, user });
    equal((await ask("ann")).statusCode, 200);
    equal(await ask("ann"), { statusCode: 409, body: "you have one" });
    // Whoever finds the lock taken tries again, or fails and asks again: nobody gets two.
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
    const outcomes = await times(4, () => cron.scheduled({ scheduledTime }, env(stack)));
    equal(outcomes.filter((outcome) => outcome === "done").length, 1);
    equal(await cron.scheduled({ scheduledTime }, env(stack)), "done before");
  },

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
};
