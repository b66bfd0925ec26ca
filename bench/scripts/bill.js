// What calls cost Redis, of the npm package and of its peers: how many commands, how many
// microseconds, and what they leave behind. Redis counts it.
import { Lock } from "@upstash/lock";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { Client, GroupCommit } from "edgelock";
import { TTL_MS } from "./batch.js";
import { onRequest } from "./requests.js";
import { serve } from "./serve.js";
import { connect, multiSemaphore, redlock, semaphore } from "./tcp.js";

const { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: token, REDIS_ADDRESS } = process.env;
/** How often each call is made. */
const TIMES = 50;
const HOLD_MS = 20;
const WAITERS = 8;
/** A minute, behind a hold. What lives longer is what a name leaves behind. */
const MINUTE_MS = 60_000 + TTL_MS;

const meter = await connect(REDIS_ADDRESS);
const tcp = await connect(REDIS_ADDRESS);
const client = new Client({ url, credential: token });
const upstash = new Redis({ url, token });
const ttl = { ttl: TTL_MS };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The microseconds that Redis has run so far. */
async function cpu() {
  const seconds = (await meter.info("cpu")).matchAll(/main_thread:([\d.]+)/g);
  return Array.from(seconds, ([, part]) => Number(part) * 1e6).reduce((sum, part) => sum + part, 0);
}

/**
 * What Redis executed during `work`, without what the bridge asks for itself. Of scripts that it
 * knows to be quick it does not take the time.
 */
async function spent(work) {
  let requests = 0;
  await meter.config("RESETSTAT");
  const before = await cpu();
  onRequest(() => requests++);
  await work();
  onRequest(() => {});
  const us = (await cpu()) - before;
  const calls = {};
  for (const [, name, count] of (await meter.info("commandstats")).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)) {
    if (!/^(ping|info|config)/.test(name)) calls[name] = Number(count);
  }
  const scripts = (calls.eval ?? 0) + (calls.evalsha ?? 0);
  const commands = Object.values(calls).reduce((sum, count) => sum + count, 0);
  return { requests, commands, scripts, us, calls };
}

/** Of `figures`, the part of each of so many. */
function share({ commands, requests, us, calls }, count) {
  const of = (figure) => figure / count;
  return { commands: of(commands), requests: of(requests), us: of(us), calls: Object.fromEntries(Object.entries(calls).map(([name, count]) => [name, of(count)])) };
}

/** The bytes of all keys: those that go within a minute, and those that stay longer. */
async function left() {
  let [soon, later] = [0, 0];
  for (const key of await meter.keys("*")) {
    const bytes = await meter.memory("USAGE", key);
    if ((await meter.pttl(key)) <= MINUTE_MS) soon += bytes;
    else later += bytes;
  }
  return { soon, later };
}

const over = (work) => async (name) => ({ call: () => work(name) });
const turn = (acquire) => over(async (name) => (await acquire(name))());
const lease = (lock) => turn(async (name) => {
  const lease = await lock(name).acquire();
  return () => lease.release();
});
/** A call under a lease, which is given back afterwards. */
const held = (work) => async (name) => {
  const lease = await client.lock(name, ttl).acquire();
  return { call: () => work(lease, name), end: () => lease.release() };
};
const peer = (work) => async (name) => {
  const lock = new Lock({ id: name, redis: upstash, lease: TTL_MS, retry: { attempts: 1, delay: 0 } });
  if (!(await lock.acquire())) throw new Error("not acquired");
  return { call: () => work(lock, name), end: () => lock.release() };
};
const refused = async (lock) => {
  if (await lock.tryAcquire()) throw new Error("not refused");
};
const key = (name) => ({ key: `{${name}}:n` });
const peerLock = (name) => new Lock({ id: name, redis: upstash, lease: TTL_MS, retry: { attempts: 1, delay: 0 } });
const window = (name) => new Ratelimit({ redis: upstash, limiter: Ratelimit.fixedWindow(1, "60 s"), prefix: name, ephemeralCache: false });

/** The flash sale of worker/: what is read for an order, and what is written. */
const orders = new GroupCommit({
  reads: ({ sale, order }) => [
    ["HMGET", { key: sale }, "stock", "remaining", "limit_per_buyer", "ends_at_ms"],
    ["TIME"],
    ["HGET", { key: `${sale}:orders` }, order],
    ["HGET", { key: `${sale}:buyers` }, order],
  ],
  begin: () => ({ sale: "" }),
  decide: ({ sale, order }, _, state) => {
    state.sale = sale;
    const writes = ["remaining", order, order].map((field, at) => ["HSET", { key: sale + ["", ":orders", ":buyers"][at] }, field, 1]);
    return { answer: "sold", writes };
  },
  end: ({ sale }) => ["", ":orders", ":buyers"].map((ending) => ["PEXPIRE", { key: sale + ending }, 1000]),
});
/** Of a turn of the sale, all that is not the sale's own: its reads and writes. */
const SALES_OWN = 2 + 200 + 300 + 3;
async function sharedTurn(name) {
  const lock = client.lock(`sale:{${name}}:lock`, ttl);
  return { call: () => Promise.all(Array.from({ length: 100 }, (_, order) => orders.submit(lock, { sale: `sale:{${name}}`, order: `o${order}` }))) };
}

// What makes each call, and how many commands of it are not ours.
const cases = {
  "acquire + release": [lease((name) => client.lock(name, ttl))],
  "acquire with a read + commit of a write": [over(async (name) => {
    const [lease] = await client.lock(name, ttl).acquireAndRead([["GET", key(name)]]);
    await lease.commit([["SET", key(name), 1, "PX", 1000]]);
  })],
  renew: [held((lease) => lease.renew())],
  "exec of a write": [held((lease, name) => lease.exec([["SET", key(name), 1, "PX", 1000]]))],
  "try of a held lock": [held((_, name) => refused(client.lock(name, ttl)))],
  "reentrant, in and out": [lease((name) => client.reentrant(name, "owner", ttl))],
  "semaphore of 3, in and out": [lease((name) => client.semaphore(name, 3, ttl))],
  "reader, in and out": [lease((name) => client.readWrite(name).read(ttl))],
  "writer, in and out": [lease((name) => client.readWrite(name).write(ttl))],
  "two names, in and out": [lease((name) => client.lockAll([`{${name}}:a`, `{${name}}:b`], ttl))],
  "once, first": [over((name) => client.once(name, { keep: 60_000 }).run(() => name))],
  "once, repeat": [async (name) => {
    const once = () => client.once(name, { keep: 60_000 }).run(() => name);
    await once();
    return { call: once };
  }],
  "throttle, passes": [over((name) => client.throttle(name, 60_000).tryPass())],
  "throttle, refuses": [async (name) => {
    const pass = () => client.throttle(name, 60_000).tryPass();
    await pass();
    return { call: pass };
  }],
  debounce: [over((name) => client.debounce(name, 20).run(() => name))],
  "shared turn of 100 orders, beyond theirs": [sharedTurn, SALES_OWN],
  "@upstash/lock: acquire + release": [turn(async (name) => {
    const lock = peerLock(name);
    if (!(await lock.acquire())) throw new Error("not acquired");
    return () => lock.release();
  })],
  "@upstash/lock: with a read and a write": [over(async (name) => {
    const lock = peerLock(name);
    if (!(await lock.acquire())) throw new Error("not acquired");
    await upstash.get(`{${name}}:n`);
    await upstash.set(`{${name}}:n`, 1, { px: 1000 });
    await lock.release();
  })],
  "@upstash/lock: extend": [peer((lock) => lock.extend(1000))],
  "@upstash/lock: try of a held lock": [peer((_, name) => peerLock(name).acquire())],
  "@upstash/ratelimit: passes": [over((name) => window(name).limit("all"))],
  "@upstash/ratelimit: refuses": [async (name) => {
    const limiter = window(name);
    await limiter.limit("all");
    return { call: () => limiter.limit("all") };
  }],
  "redlock 5: in and out": [turn(redlock(tcp))],
  "redlock 5: two names, in and out": [turn((name) => redlock(tcp)(`${name}a`, `${name}b`))],
  "redis-semaphore: Semaphore of 3": [turn((name) => semaphore(tcp, name, 3)())],
  "redis-semaphore: MultiSemaphore of 3": [turn((name) => multiSemaphore(tcp, name, 3)())],
  "SET NX + DEL": [over(async (name) => {
    await upstash.set(name, 1, { nx: true, px: TTL_MS });
    await upstash.del(name);
  })],
};

let names = 0;

/** What one call of this case costs. */
async function cost(name) {
  const [prepare, own = 0] = cases[name];
  const make = () => Promise.all(Array.from({ length: TIMES }, () => prepare(`bill-${names++}`)));
  const each = async (calls, what) => {
    for (const call of calls) await call[what]?.();
  };
  // So that Redis and the bridge know the scripts.
  const first = await make();
  await each(first, "call");
  await each(first, "end");
  await meter.flushall();
  const calls = await make();
  const figures = await spent(() => each(calls, "call"));
  const bytes = await left();
  await each(calls, "end");
  const one = share(figures, TIMES);
  return { ...one, commands: one.commands - own, soon: bytes.soon / TIMES, later: bytes.later / TIMES };
}

/** Waiters, each as if in a process of its own: so many take turns at one lock. */
const kinds = {
  edgelock: (name) => {
    const lock = new Client({ url, credential: token, push: true }).lock(name, { ...ttl, wait: 60_000, maxRequests: 1_000 });
    return async () => {
      const lease = await lock.acquire();
      return () => lease.release();
    };
  },
  "@upstash/lock": (name) => {
    const lock = new Lock({ id: name, redis: new Redis({ url, token }), lease: TTL_MS, retry: { attempts: 1_000, delay: 100 } });
    return async () => {
      if (!(await lock.acquire())) throw new Error("not acquired");
      return () => lock.release();
    };
  },
};

async function contended(kind) {
  const name = `contended-${names++}`;
  let turns = 0;
  let isOver = false;
  const waiter = async (acquire) => {
    while (!isOver) {
      const release = await acquire();
      await sleep(HOLD_MS);
      turns++;
      await release();
    }
  };
  const all = Promise.all(Array.from({ length: WAITERS }, () => waiter(kinds[kind](name))));
  await sleep(1_000);
  turns = 0;
  const figures = await spent(() => sleep(5_000));
  const counted = turns;
  isOver = true;
  await all;
  return share(figures, counted);
}

/** Polls of a lock that stays held. */
async function poll() {
  const name = `poll-${names++}`;
  const lease = await client.lock(name, ttl).acquire();
  const waits = new Client({ url, credential: token, push: false }).lock(name, { ...ttl, wait: 3_000, maxRequests: 1_000 });
  const waiter = waits.acquire().catch(() => {});
  await sleep(500);
  const figures = await spent(() => sleep(2_000));
  await waiter;
  await lease.release();
  return share(figures, figures.scripts);
}

// `GET /` lists the cases, and the others answer with figures.
serve(async (target) => {
  const { pathname, searchParams } = new URL(target, "http://localhost");
  const of = searchParams.get("of");
  const answers = {
    "/": () => Object.keys(cases),
    "/cost": () => cost(of),
    "/contended": () => contended(of),
    "/poll": poll,
  };
  return JSON.stringify(await answers[pathname]());
});
