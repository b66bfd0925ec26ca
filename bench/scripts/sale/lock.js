// The flash sale with @upstash/lock, as its users write it: lock, read, write, unlock.
import { Lock } from "@upstash/lock";
import { Redis } from "@upstash/redis";
import { keys, refusal, shop } from "./shop.js";

const LEASE_MS = 10_000;

export default shop(async (env, sku, order) => {
  const redis = new Redis({ url: env.EDGELOCK_BRIDGE_URL, token: env.EDGELOCK_BRIDGE_CREDENTIAL, automaticDeserialization: false });
  const retry = { attempts: Number(env.ATTEMPTS), delay: Number(env.DELAY_MS) };
  const [sale, orders, buyers] = keys(sku);
  const lock = new Lock({ id: `${sale}:lock`, redis, lease: LEASE_MS, retry });
  if (!(await lock.acquire())) return [503, { code: "lock_held" }];
  try {
    const reads = redis.pipeline();
    reads.hgetall(sale);
    reads.hget(orders, order.order_id);
    reads.hget(buyers, order.buyer);
    const [terms, known, bought] = await reads.exec();
    const found = read(terms);
    const no = refusal(found, known, Number(bought ?? 0), order);
    if (no) return no;
    const remaining = found.remaining - order.quantity;
    const writes = redis.multi();
    writes.hset(sale, { remaining });
    writes.hset(orders, { [order.order_id]: `${order.quantity} ${order.buyer} 0 ${remaining}` });
    writes.hincrby(buyers, order.buyer, order.quantity);
    await writes.exec();
    return [201, { remaining }];
  } finally {
    await lock.release();
  }
});

/** Without deserialization the client gives a hash as Redis does: names and values in turn. */
function read(terms) {
  const pairs = Array.isArray(terms) ? chunks(terms) : Object.entries(terms ?? {});
  const { remaining, limit_per_buyer, ends_at_ms } = Object.fromEntries(pairs);
  if (remaining === undefined) return undefined;
  return { remaining: Number(remaining), limit: Number(limit_per_buyer), endsAt: Number(ends_at_ms) };
}

function chunks(list) {
  return list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1]]] : []));
}
