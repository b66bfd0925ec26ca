// npm redlock 4, the latest that is not a beta.
import Redis from "ioredis";
import Redlock from "redlock";
import { serve, unless } from "./neighbour.mjs";

const redlock = new Redlock([new Redis(process.env.REDIS_SOCKET)], { retryCount: 0 });
let lock;

serve({
  acquire: (name, ttl) => unless("LockError", redlock.lock(name, Number(ttl)).then((held) => (lock = held))),
  extend: (ttl) => unless("LockError", lock.extend(Number(ttl))),
  release: () => unless("LockError", lock.unlock()),
});
