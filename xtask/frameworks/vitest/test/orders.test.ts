// These tests run in workerd, beside the Worker that they test.
import { env, SELF } from "cloudflare:test";
import { Client } from "edgelock";
import { expect, it } from "vitest";

const ship = (order: string) => SELF.fetch(`http://shop/orders/${order}`, { method: "POST" });

it("ships an order", async () => {
  const answer = await ship("1");
  expect([answer.status, await answer.json()]).toEqual([200, { shipped: "1" }]);
});

it("refuses an order that somebody else ships", async () => {
  const lock = Client.fromEnv(env).lock("order:2");
  await using _lease = await lock.acquire();
  expect((await ship("2")).status).toBe(409);
  expect(await lock.tryAcquire()).toBe(null);
});
