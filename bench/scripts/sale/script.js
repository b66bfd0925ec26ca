// The flash sale with one Lua script, and one request, for each order.
import { execute } from "./order.js";
import { shop } from "./shop.js";

export default shop(async (env, sku, order) => {
  const [answer] = await execute(env, sku, [order]);
  return answer;
});
