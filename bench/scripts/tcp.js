// Peers that reach Redis by TCP, as their users call them. Each acquires, and returns the function
// that releases.
import Redis from "ioredis";
import Redlock from "redlock-5";
import { MultiSemaphore, Semaphore } from "redis-semaphore";
import { TTL_MS } from "./batch.js";
import { sent } from "./requests.js";

// A connection to the Redis at `address`, whose commands count as requests. Resolves when it is
// ready.
export async function connect(address) {
  const [host, port] = address.split(":");
  const redis = new Redis({ host, port: Number(port), lazyConnect: true });
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (...args) => (sent(), send(...args));
  await redis.connect();
  return redis;
}

// Renewals are off, as they are with an edgelock lease. A waiter never gives up.
const options = (delay) => ({
  lockTimeout: TTL_MS,
  acquireTimeout: Number.MAX_SAFE_INTEGER / 2,
  retryInterval: delay,
  refreshInterval: 0,
});

export function semaphore(redis, name, permits, delay) {
  return turn(new Semaphore(redis, name, permits, options(delay)));
}

// One permit of the kind of semaphore that can give several at once.
export function multiSemaphore(redis, name, permits, delay) {
  return turn(new MultiSemaphore(redis, name, permits, 1, options(delay)));
}

function turn(lock) {
  return async () => {
    await lock.acquire();
    return () => lock.release();
  };
}

// All of these names, or none.
export function redlock(redis) {
  const redlock = new Redlock([redis], { retryCount: 0 });
  return async (...names) => {
    const lock = await redlock.acquire(names, TTL_MS);
    return () => lock.release();
  };
}
