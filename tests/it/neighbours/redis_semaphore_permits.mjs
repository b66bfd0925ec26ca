// npm redis-semaphore's four semaphores. They put `semaphore:` before each name. A MultiSemaphore
// is asked for one permit.
import Redis from "ioredis";
import * as library from "redis-semaphore";
import { serve } from "./neighbour.mjs";

const redis = new Redis(process.env.REDIS_SOCKETS);
let semaphore;

serve({
  acquire(kind, name, permits, ttl) {
    const Semaphore = library[kind];
    const options = { lockTimeout: Number(ttl), acquireAttemptsLimit: 1, refreshInterval: 0 };
    const wanted = kind.includes("Multi") ? [Number(permits), 1] : [Number(permits)];
    semaphore = new Semaphore(kind.startsWith("Redlock") ? [redis] : redis, name, ...wanted, options);
    return semaphore.tryAcquire();
  },
  release: () => semaphore.release(),
});
