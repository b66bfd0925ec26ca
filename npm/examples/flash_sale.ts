// A Worker that sells a limited stock: `POST /sales/{sku}/orders?order=…&quantity=…`. However many come at once, no unit too many
// is sold; and an order that is sent again gets the answer that it got before. Orders of one moment share turns of the lock, and
// what is sold out needs no lock at all.
import { Client, GroupCommit, HeldError, type Reply } from "edgelock";

interface Order {
  readonly sku: string;
  readonly order: string;
  readonly quantity: number;
}

interface Sold {
  readonly order: string;
  readonly quantity: number;
  readonly left: number;
}

const orders = new GroupCommit({
  reads: ({ sku, order }: Order) => [["GET", { key: `sale:{${sku}}:stock` }], ["HGET", { key: `sale:{${sku}}:orders` }, order]],
  // What the orders of one turn share.
  begin: () => ({ left: undefined as number | undefined, sold: new Map<string, Sold>() }),
  decide({ sku, order, quantity }, [stock, known], turn) {
    const before = turn.sold.get(order) ?? parse(known);
    if (before) return { answer: before };
    turn.left ??= Number(stock ?? 0);
    if (quantity > turn.left) return { answer: { order, quantity: 0, left: turn.left } };
    turn.left -= quantity;
    const sold: Sold = { order, quantity, left: turn.left };
    turn.sold.set(order, sold);
    const record = ["HSET", { key: `sale:{${sku}}:orders` }, order, JSON.stringify(sold)] as const;
    // The record first: by it the order is known again, whatever becomes of the rest.
    return { answer: sold, writes: [record, ["SET", { key: `sale:{${sku}}:stock` }, turn.left]] };
  },
  peek({ order }, [stock, known]) {
    const answer = parse(known) ?? (Number(stock ?? 0) === 0 ? { order, quantity: 0, left: 0 } : undefined);
    return answer && { answer };
  },
});

const parse = (known: Reply | undefined) => (typeof known === "string" ? (JSON.parse(known) as Sold) : undefined);

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
      const sold = await orders.submit(client.lock(`sale:{${sku}}:lock`, { ttl: 3_000 }), { sku, order, quantity });
      return Response.json(sold, { status: sold.quantity === 0 ? 409 : 200 });
    } catch (error) {
      if (!(error instanceof HeldError)) throw error;
      return new Response("too many at once", { status: 503, headers: { "retry-after": String(Math.ceil(error.retryAfter / 1_000)) } });
    }
  },
};
