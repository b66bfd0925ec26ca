// The peer, as its users call it: acquires, and returns what releases.
import { Lock } from "@upstash/lock";
import { TTL_MS } from "./batch.js";

export function upstash(redis) {
  return async (name) => {
    const lock = new Lock({ id: name, redis, lease: TTL_MS, retry: { attempts: 1, delay: 0 } });
    if (!(await lock.acquire())) throw new Error("not acquired");
    return async () => {
      if (!(await lock.release())) throw new Error("not released");
    };
  };
}
