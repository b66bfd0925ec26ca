// A Worker that sells a limited stock: `POST /sales/{sku}/orders?order=…&buyer=…&quantity=…`.
// However many come at once, no unit too many is sold, and no buyer has more than two; and an order
// that is sent again gets the answer that it got before. Orders of one moment share turns of the
// lock, and what is sold out needs no lock at all.
import { Client, GroupCommit, HeldError, type Reply } from "edgelock";

/** How many one buyer may have. Whoever `buyer` is must be known from elsewhere: a session, say. */
const LIMIT = 2;

interface Order {
  readonly sku: string;
  readonly order: string;
  readonly buyer: string;
  readonly quantity: number;
}

interface Sold {
  readonly order: string;
  /** 0 if it was refused. */
  readonly quantity: number;
  readonly left: number;
  readonly refused?: "not enough left" | "limit reached";
}

const orders = new GroupCommit({
  usesFence: false,
  reads: ({ sku, order, buyer }: Order) => [
    ["GET", { key: `sale:{${sku}}:stock` }],
    ["HGET", { key: `sale:{${sku}}:orders` }, order],
    ["HGET", { key: `sale:{${sku}}:buyers` }, buyer],
  ],
  // What the orders of one turn share: what is left, what was sold, and how many each buyer has.
  begin: () => ({ left: undefined as number | undefined, sold: new Map<string, Sold>(), bought: new Map<string, number>() }),
  decide({ sku, order, buyer, quantity }, [stock, known, has], state) {
    const before = state.sold.get(order) ?? parse(known);
    if (before) return { answer: before };
    state.left ??= Number(stock ?? 0);
    const bought = (state.bought.get(buyer) ?? Number(has ?? 0)) + quantity;
    const refused = refusal(order, quantity, state.left, bought);
    if (refused) return { answer: refused };
    state.left -= quantity;
    const sold: Sold = { order, quantity, left: state.left };
    state.sold.set(order, sold);
    state.bought.set(buyer, bought);
    const record = ["HSET", { key: `sale:{${sku}}:orders` }, order, JSON.stringify(sold)] as const;
    // The record first: by it the order is known again, whatever becomes of the rest.
    return { answer: sold, writes: [record, ["HSET", { key: `sale:{${sku}}:buyers` }, buyer, bought], ["SET", { key: `sale:{${sku}}:stock` }, state.left]] };
  },
  // What is refused now stays refused: nothing is ever given back.
  peek({ order, quantity }, [stock, known, has]) {
    const answer = parse(known) ?? refusal(order, quantity, Number(stock ?? 0), Number(has ?? 0) + quantity);
    return answer && { answer };
  },
});

const parse = (known: Reply | undefined) => (typeof known === "string" ? (JSON.parse(known) as Sold) : undefined);

function refusal(order: string, quantity: number, left: number, bought: number): Sold | undefined {
  if (quantity > left) return { order, quantity: 0, left, refused: "not enough left" };
  return bought > LIMIT ? { order, quantity: 0, left, refused: "limit reached" } : undefined;
}

export default {
  async fetch(request: Request, env: object, context: { waitUntil(promise: Promise<unknown>): void }): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const sku = pathname.match(/^\/sales\/(\w+)\/orders$/)?.[1];
    const [order, buyer] = [searchParams.get("order"), searchParams.get("buyer")];
    const quantity = Number(searchParams.get("quantity"));
    if (sku === undefined || request.method !== "POST") return new Response("no such route", { status: 404 });
    if (!order || !buyer || !Number.isInteger(quantity) || quantity < 1) return new Response("what order?", { status: 400 });
    // Who hangs up while the order is in the line has not ordered. It takes the compatibility flag
    // `enable_request_signal`.
    const client = Client.fromEnv(env, { waitUntil: (promise) => context.waitUntil(promise), signal: request.signal });
    try {
      const lock = client.lock(`sale:{${sku}}:lock`, { ttl: 3_000 });
      const sold = await orders.submit(lock, { sku, order, buyer, quantity });
      return Response.json(sold, { status: sold.quantity === 0 ? 409 : 200 });
    } catch (error) {
      if (!(error instanceof HeldError)) throw error;
      return new Response("too many at once", { status: 503, headers: { "retry-after": String(Math.ceil(error.retryAfter / 1_000)) } });
    }
  },
};
