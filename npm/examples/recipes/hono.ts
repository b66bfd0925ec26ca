import { Client } from "edgelock";
import { Hono } from "hono";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

const client = Client.fromEnv();

export const app = new Hono();

app.post("/orders/:id", async (context) => {
  const id = context.req.param("id");
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  const { signal } = context.req.raw;
  return context.json(await lock.run((lease) => shop.ship(id, lease.signal), { signal }));
});

app.onError(refusal);
