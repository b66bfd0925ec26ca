import { Client } from "edgelock";
import { Hono } from "hono";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

const app = new Hono<{ Bindings: Record<string, string> }>();

app.post("/orders/:id", async (context) => {
  const { env, executionCtx } = context;
  const { signal } = context.req.raw;
  const waitUntil = (promise: Promise<unknown>) => executionCtx.waitUntil(promise);
  const client = Client.fromEnv(env, { waitUntil, signal });
  const id = context.req.param("id");
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  return context.json(await lock.run((lease) => shop.ship(id, lease.signal)));
});

app.onError(refusal);

export default app;
