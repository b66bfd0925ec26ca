// npm redlock 5, a beta since 2021 that many use.
import Redis from "ioredis";
import Redlock from "redlock-5";
import { serve, unless } from "./neighbour.mjs";

const servers = process.env.REDIS_SOCKETS.split(",").map((socket) => new Redis(socket));
const redlock = new Redlock(servers, { retryCount: 0 });
// redlock emits an error for each vote against it, even if that is a normal answer.
redlock.on("error", () => {});
let lock;

serve({
  // `name` may be several names, separated by commas.
  acquire: (name, ttl) => unless("ExecutionError", redlock.acquire(name.split(","), Number(ttl)).then((held) => (lock = held))),
  extend: (ttl) => unless("ExecutionError", lock.extend(Number(ttl))),
  release: () => unless("ExecutionError", lock.release()),
});
