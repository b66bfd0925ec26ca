// No sale at all: what workerd takes for a request, and the customers for an order.
import { shop } from "./shop.js";

export default shop(async (env, sku) => [sku.endsWith("sold-out") ? 409 : 201, { remaining: 1 }]);
