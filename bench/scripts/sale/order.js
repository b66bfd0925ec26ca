// An order as one Lua script: no lock, and no section of the user's own.
import { keys } from "./shop.js";

// ARGV has the id, the buyer and the quantity of each order. The reply has the status of each, and
// what remains.
const SCRIPT = `
local terms = redis.call('HMGET', KEYS[1], 'remaining', 'limit_per_buyer', 'ends_at_ms')
local time = redis.call('TIME')
local remaining, limit, ends = tonumber(terms[1]), tonumber(terms[2]), tonumber(terms[3])
local before, replies = remaining, {}
local function sell(id, buyer, quantity)
  if redis.call('HEXISTS', KEYS[2], id) == 1 then return 200 end
  if not remaining then return 404 end
  if time[1] * 1000 >= ends then return 410 end
  if remaining < quantity then return 409 end
  if (tonumber(redis.call('HGET', KEYS[3], buyer)) or 0) + quantity > limit then return 409 end
  remaining = remaining - quantity
  redis.call('HSET', KEYS[2], id, quantity .. ' ' .. buyer .. ' 0 ' .. remaining)
  redis.call('HINCRBY', KEYS[3], buyer, quantity)
  return 201
end
for at = 1, #ARGV, 3 do
  replies[#replies + 1] = sell(ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]))
  replies[#replies + 1] = remaining or 0
end
if remaining ~= before then redis.call('HSET', KEYS[1], 'remaining', remaining) end
return replies`;

/** Executes these orders of one sale in one request. Returns the outcome of each. */
export async function execute(env, sku, orders) {
  const words = orders.flatMap((order) => [order.order_id, order.buyer, String(order.quantity)]);
  const response = await fetch(env.EDGELOCK_BRIDGE_URL, {
    method: "POST",
    headers: { authorization: `Bearer ${env.EDGELOCK_BRIDGE_CREDENTIAL}`, "content-type": "application/json" },
    body: JSON.stringify(["EVAL", SCRIPT, "3", ...keys(sku), ...words]),
  });
  const { result, error } = await response.json();
  if (error !== undefined) throw new Error(error);
  return orders.map((_, at) => answer(result[2 * at], result[2 * at + 1]));
}

function answer(status, remaining) {
  return [status, status < 300 ? { remaining } : { code: "refused", remaining }];
}
