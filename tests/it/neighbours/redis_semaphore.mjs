// npm redis-semaphore's Mutex: `mutex:` before each name, no extend, and a release that says nothing.
import Redis from "ioredis";
import { Mutex } from "redis-semaphore";
import { serve } from "./neighbour.mjs";

const redis = new Redis(process.env.REDIS_SOCKETS);
let mutex;

serve({
  acquire(name, ttl) {
    mutex = new Mutex(redis, name, { lockTimeout: Number(ttl), acquireAttemptsLimit: 1, refreshInterval: 0 });
    return mutex.tryAcquire();
  },
  extend: () => null,
  release: () => mutex.release(),
});
