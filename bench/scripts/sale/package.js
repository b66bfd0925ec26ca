// The flash sale with shared turns, by the npm package.
import { Client, GroupCommit } from "edgelock";
import { keys, refusal, shop } from "./shop.js";

const orders = new GroupCommit({
  usesFence: false,
  reads({ sku, order }) {
    const [sale, orders, buyers] = keys(sku).map((key) => ({ key }));
    return [["HMGET", sale, "remaining", "limit_per_buyer", "ends_at_ms"], ["HGET", orders, order.order_id], ["HGET", buyers, order.buyer]];
  },
  begin: () => ({ sale: undefined, known: new Set(), bought: new Map() }),
  decide({ sku, order }, [terms, record, had], state) {
    const { order_id: id, buyer, quantity } = order;
    state.sale ??= read(terms);
    const bought = state.bought.get(buyer) ?? Number(had ?? 0);
    const answer = refusal(state.sale, record !== null || state.known.has(id), bought, order);
    if (answer) return { answer };
    const remaining = (state.sale.remaining -= quantity);
    state.known.add(id);
    state.bought.set(buyer, bought + quantity);
    const [sale, orders, buyers] = keys(sku).map((key) => ({ key }));
    return {
      answer: [201, { remaining }],
      writes: [
        ["HSET", sale, "remaining", remaining],
        ["HSET", orders, id, `${quantity} ${buyer} 0 ${remaining}`],
        ["HSET", buyers, buyer, bought + quantity],
      ],
    };
  },
});

/** As a Worker's author writes it: each request has a client, and ends with its caller. */
export default shop((env, sku, order, request, context) => {
  const waitUntil = (promise) => context.waitUntil(promise);
  const client = Client.fromEnv(env, { waitUntil, signal: request.signal });
  return orders.submit(client.lock(`${keys(sku)[0]}:lock`, { ttl: 3_000, wait: 30_000 }), { sku, order });
});

function read([remaining, limit, endsAt]) {
  return remaining === null ? null : { remaining: Number(remaining), limit: Number(limit), endsAt: Number(endsAt) };
}
