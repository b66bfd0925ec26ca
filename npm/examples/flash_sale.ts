// A Worker that sells a limited stock: `POST /sales/{sku}/orders?order=…&quantity=…`. However many come at once, no unit too many
// is sold; and an order that is sent again gets the answer that it got before.
import { Client, HeldError } from "edgelock";

interface Sold {
  readonly order: string;
  readonly quantity: number;
  readonly left: number;
}

export default {
  async fetch(request: Request, env: object, context: { waitUntil(promise: Promise<unknown>): void }): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const sku = pathname.match(/^\/sales\/(\w+)\/orders$/)?.[1];
    const order = searchParams.get("order");
    const quantity = Number(searchParams.get("quantity"));
    if (sku === undefined || request.method !== "POST") return new Response("no such route", { status: 404 });
    if (!order || !Number.isInteger(quantity) || quantity < 1) return new Response("what order?", { status: 400 });

    const client = Client.fromEnv(env, { waitUntil: (promise) => context.waitUntil(promise) });
    try {
      const sold = await buy(client, sku, order, quantity);
      return Response.json(sold, { status: sold.quantity === 0 ? 409 : 200 });
    } catch (error) {
      if (!(error instanceof HeldError)) throw error;
      const seconds = Math.ceil(error.retryAfter / 1_000);
      return new Response("too many at once", { status: 503, headers: { "retry-after": String(seconds) } });
    }
  },
};

async function buy(client: Client, sku: string, order: string, quantity: number): Promise<Sold> {
  const [stock, orders] = [{ key: `sale:{${sku}}:stock` }, { key: `sale:{${sku}}:orders` }];
  const lock = client.lock(`sale:{${sku}}:lock`, { wait: 10_000 });
  const [lease, [left, known]] = await lock.acquireAndRead([["GET", stock], ["HGET", orders, order]]);
  if (typeof known === "string") {
    await lease.release();
    return JSON.parse(known) as Sold;
  }
  const available = Number(left ?? 0);
  const granted = quantity <= available ? quantity : 0;
  const sold = { order, quantity: granted, left: available - granted };
  await lease.commit([["SET", stock, sold.left], ["HSET", orders, order, JSON.stringify(sold)]]);
  return sold;
}
