// A turn of each kind that nobody waits for, of the npm package and of its peers.
import { Redis } from "@upstash/redis";
import { Client } from "edgelock";
import { batch, TTL_MS } from "./batch.js";
import { upstash } from "./peer.js";
import { serve } from "./serve.js";
import { connect, multiSemaphore, redlock, semaphore } from "./tcp.js";

const { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: token, REDIS_ADDRESS } = process.env;
const PERMITS = 8;

const client = new Client({ url, credential: token });
const redis = await connect(REDIS_ADDRESS);
const ttl = { ttl: TTL_MS };

const lease = (lock) => async (name) => {
  const lease = await lock(name).tryAcquire();
  return () => lease.release();
};
// Work is released by itself.
const work = (once) => async (name) => {
  await once(name).run(() => name);
  return () => {};
};
await client.once("repeated").run(() => "done before");

// Each kind, followed by its peers as "kind / peer".
const cases = {
  lock: lease((name) => client.lock(name, ttl)),
  "lock / @upstash/lock": upstash(new Redis({ url, token })),
  "lock / redlock 5": redlock(redis),
  reentrant: lease((name) => client.reentrant(name, "owner", ttl)),
  semaphore: lease((name) => client.semaphore(name, PERMITS, ttl)),
  "semaphore / redis-semaphore": (name) => semaphore(redis, name, PERMITS)(),
  "semaphore / MultiSemaphore": (name) => multiSemaphore(redis, name, PERMITS)(),
  read: lease((name) => client.readWrite(name).read(ttl)),
  write: lease((name) => client.readWrite(name).write(ttl)),
  "once, first": work((name) => client.once(name)),
  "once, repeat": work(() => client.once("repeated")),
};

// `GET /` lists the cases; `GET /<case>?<size>` runs one batch of that case.
serve(async (target) => {
  const [path, size] = target.slice(1).split("?");
  if (path === "") return JSON.stringify(Object.keys(cases));
  return JSON.stringify(await batch(cases[decodeURIComponent(path)], Number(size)));
});
