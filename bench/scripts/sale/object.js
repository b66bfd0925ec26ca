// The flash sale as a Durable Object. The Workers reach its process at `EDGELOCK_BRIDGE_URL`.
import { DurableObject } from "cloudflare:workers";
import { refusal, shop } from "./shop.js";

/**
 * One sale. Its orders come one after another, and its writes are stored before an answer is sent.
 */
export class Sale extends DurableObject {
  async fetch(request) {
    const { storage } = this.ctx;
    const body = await request.json();
    if (request.method === "PUT") {
      await storage.put("sale", { remaining: body.stock, limit: body.limit_per_buyer, endsAt: body.ends_at_ms });
      return Response.json({}, { status: 201 });
    }
    const [order, buyer] = [`order:${body.order_id}`, `buyer:${body.buyer}`];
    const found = await storage.get(["sale", order, buyer]);
    const [sale, bought] = [found.get("sale"), found.get(buyer) ?? 0];
    const no = refusal(sale, found.get(order), bought, body);
    if (no) return Response.json(no[1], { status: no[0] });
    const remaining = sale.remaining - body.quantity;
    storage.put({ sale: { ...sale, remaining }, [order]: body.quantity, [buyer]: bought + body.quantity });
    return Response.json({ remaining }, { status: 201 });
  }
}

const front = shop(async (env, sku, order) => {
  const body = JSON.stringify(order);
  const response = await fetch(`${env.EDGELOCK_BRIDGE_URL}/objects/${sku}`, { method: "POST", body });
  return [response.status, await response.json()];
});

export default {
  fetch(request, env) {
    const sku = new URL(request.url).pathname.match(/^\/objects\/([\w-]+)$/)?.[1];
    if (sku === undefined) return front.fetch(request, env);
    return env.Sale.get(env.Sale.idFromName(sku)).fetch(request);
  },
};
