// The route of an order, which is the same for every shop, and the outcomes of an order.
const ROUTE = /^\/sales\/([\w-]+)\/orders$/;

/**
 * A Worker whose orders are sold by `sell(env, sku, order, request, context)`, which returns
 * `[status, body]`.
 */
export function shop(sell) {
  return {
    async fetch(request, env, context) {
      const sku = new URL(request.url).pathname.match(ROUTE)?.[1];
      if (sku === undefined) return new Response("no such route", { status: 404 });
      const [status, body] = await sell(env, sku, await request.json(), request, context);
      const headers = { "content-type": "application/json" };
      if (status === 503) headers["retry-after"] = "1";
      return new Response(JSON.stringify(body), { status, headers });
    },
  };
}

/** The keys of a sale, as in the project's own Worker. */
export function keys(sku) {
  return [`sale:{${sku}}`, `sale:{${sku}}:orders`, `sale:{${sku}}:buyers`];
}

/** `undefined` if the order can be sold, or else why it cannot. */
export function refusal(sale, known, bought, order) {
  if (known) return [200, { again: true }];
  if (!sale) return [404, { code: "no_such_sale" }];
  if (Date.now() >= sale.endsAt) return [410, { code: "sale_over" }];
  if (sale.remaining < order.quantity) return [409, { code: "sold_out" }];
  if (bought + order.quantity > sale.limit) return [409, { code: "limit_reached" }];
}
