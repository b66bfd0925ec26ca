// npm redlock 5, a beta since 2021 that many use.
import Redis from "ioredis";
import Redlock from "redlock-5";
import { serve, unless } from "./neighbour.mjs";

const servers = process.env.REDIS_SOCKETS.split(",").map((socket) => new Redis(socket));
const redlock = new Redlock(servers, { retryCount: 0 });
// It tells of each vote against it, also where that is an answer.
redlock.on("error", () => {});
let lock;

serve({
  // `name` may be several, with commas between them.
  acquire: (name, ttl) => unless("ExecutionError", redlock.acquire(name.split(","), Number(ttl)).then((held) => (lock = held))),
  extend: (ttl) => unless("ExecutionError", lock.extend(Number(ttl))),
  release: () => unless("ExecutionError", lock.release()),
});
