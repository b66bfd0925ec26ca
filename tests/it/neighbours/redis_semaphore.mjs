// npm redis-semaphore's Mutex, or RedlockMutex. It puts `mutex:` before each name, cannot extend,
// and does not tell whether it released.
import Redis from "ioredis";
import { Mutex, RedlockMutex } from "redis-semaphore";
import { serve } from "./neighbour.mjs";

const servers = process.env.REDIS_SOCKETS.split(",").map((socket) => new Redis(socket));
let mutex;

serve({
  acquire(name, ttl) {
    const options = { lockTimeout: Number(ttl), acquireAttemptsLimit: 1, refreshInterval: 0 };
    mutex = servers.length > 1 ? new RedlockMutex(servers, name, options) : new Mutex(servers[0], name, options);
    return mutex.tryAcquire();
  },
  extend: () => null,
  release: () => mutex.release(),
});
