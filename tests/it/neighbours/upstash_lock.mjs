// npm @upstash/lock, over our bridge.
import { Lock } from "@upstash/lock";
import { Redis } from "@upstash/redis";
import { serve } from "./neighbour.mjs";

const redis = new Redis({ url: process.env.EDGELOCK_BRIDGE_URL, token: process.env.EDGELOCK_BRIDGE_CREDENTIAL });
let lock;

serve({
  acquire(id, ttl) {
    lock = new Lock({ id, lease: Number(ttl), redis, retry: { attempts: 1, delay: 1 } });
    return lock.acquire();
  },
  // By so much, not for so long.
  extend: (ttl) => lock.extend(Number(ttl)),
  release: () => lock.release(),
});
