// A route of Hono's in a Worker: a cart is checked out by one request at a time.
import { Client, EdgelockError, HeldError } from "edgelock";
import { Hono } from "hono";

const app = new Hono<{ Bindings: Record<string, string> }>();

app.post("/carts/:id/checkout", async (context) => {
  const { env, executionCtx } = context;
  // A caller that hangs up waits no longer, and holds nobody up.
  const client = Client.fromEnv(env, { waitUntil: (promise) => executionCtx.waitUntil(promise), signal: context.req.raw.signal });
  const id = context.req.param("id");
  // Given back at the end of the block, however that is left.
  await using lease = await client.lock(`cart:{${id}}`, { wait: 2_000 }).acquire();
  const [paid] = await lease.exec([["SET", { key: `cart:{${id}}:paid` }, lease.fence, "NX", "PX", 60_000]]);
  return context.json({ id, paid: paid === "OK" ? "now" : "before" });
});

app.onError((error, context) => {
  if (error instanceof HeldError) return context.json({ error: error.code, retry_after_ms: error.retryAfter }, 409);
  if (error instanceof EdgelockError) return context.json({ error: error.code, advice: error.advice }, 503);
  return context.json({ error: "internal" }, 500);
});

export default app;
