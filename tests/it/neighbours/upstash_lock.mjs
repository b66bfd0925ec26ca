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
  // It extends by so much, not to so much.
  extend: (ttl) => lock.extend(Number(ttl)),
  release: () => lock.release(),
});
