// npm redlock 4, the latest that is not a beta.
import Redis from "ioredis";
import Redlock from "redlock";
import { serve, unless } from "./neighbour.mjs";

const servers = process.env.REDIS_SOCKETS.split(",").map((socket) => new Redis(socket));
const redlock = new Redlock(servers, { retryCount: 0 });
let lock;

serve({
  // `name` may be several names, separated by commas.
  acquire: (name, ttl) => unless("LockError", redlock.lock(name.split(","), Number(ttl)).then((held) => (lock = held))),
  extend: (ttl) => unless("LockError", lock.extend(Number(ttl))),
  release: () => unless("LockError", lock.unlock()),
});
