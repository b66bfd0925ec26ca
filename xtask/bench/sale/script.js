// The flash sale whose order is one Lua script, and a request of its own.
import { execute } from "./order.js";
import { shop } from "./shop.js";

export default shop(async (env, sku, order) => {
  const [answer] = await execute(env, sku, [order]);
  return answer;
});
