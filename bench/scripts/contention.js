// Waiters that take turns: each acquires a lock, holds it, releases it, and asks for it again.
import { Lock } from "@upstash/lock";
import { Redis } from "@upstash/redis";
import { Client } from "edgelock";
import { TTL_MS } from "./batch.js";
import { onRequest } from "./requests.js";
import { serve } from "./serve.js";
import { connect, semaphore } from "./tcp.js";

const { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: token, REDIS_ADDRESS } = process.env;
const HOLD_MS = 5;
// A wait that goes on so long after the others were counted is cut short.
const PATIENCE_MS = 30_000;

const client = (push) => new Client({ url, credential: token, push });
const [listening, polling] = [client(true), client(false)];
const options = { ttl: TTL_MS, wait: 60_000, maxRequests: 1_000 };

const redis = await connect(REDIS_ADDRESS);
// One in so many turns of a read/write lock writes.
const WRITES_IN = 10;

// For a name and a waiter, each kind gives a function that acquires, and returns the function that
// releases.
const kinds = {
  push: edgelock((name) => listening.lock(name, options)),
  fair: edgelock((name) => listening.lock(name, { ...options, fair: true })),
  poll: edgelock((name) => polling.lock(name, options)),
  semaphore: edgelock((name, { permits }) => listening.semaphore(name, permits, options)),
  redisSemaphore: (name, { permits, delay }) => semaphore(redis, name, permits, delay),
  readWrite: (name, { index }) => {
    const lock = listening.readWrite(name);
    const [reader, writer] = [lock.read(options), lock.write(options)];
    let turn = index;
    return async () => {
      const lease = await (turn++ % WRITES_IN === 0 ? writer : reader).acquire();
      return () => lease.release();
    };
  },
  // Every waiter has a client of its own, as each Worker would. A shared client gathers the
  // commands of all in one request.
  peer: (name, { delay }) => {
    const redis = new Redis({ url, token });
    const lock = new Lock({ id: name, redis, lease: TTL_MS, retry: { attempts: Infinity, delay } });
    return async () => {
      if (!(await lock.acquire())) throw new Error("not acquired");
      return async () => {
        if (!(await lock.release())) throw new Error("not released");
      };
    };
  },
};

function edgelock(make) {
  return (name, of) => {
    const lock = make(name, of);
    return async () => {
      const lease = await lock.acquire();
      return () => lease.release();
    };
  };
}

// Timers are late by up to a millisecond, which is a fifth of a hold. So the last millisecond is
// waited for awake.
async function hold() {
  const until = performance.now() + HOLD_MS;
  await new Promise((resolve) => setTimeout(resolve, HOLD_MS - 1));
  while (performance.now() < until) await new Promise(setImmediate);
  return performance.now() - until + HOLD_MS;
}

let runs = 0;

// Turns and requests count within the window, and waits count if they begin in it. Everyone goes on
// until the last of those waits is over.
async function contend({ kind, waiters, names, rampMs, windowMs, ...of }) {
  const run = runs++;
  const start = performance.now() + rampMs;
  const end = start + windowMs;
  const within = (time) => time >= start && time < end;
  const figures = { turns: Array(waiters).fill(0), waits_ms: [], requests: 0, all_turns: 0, held_ms: 0 };
  let waiting = 0;
  onRequest(() => (figures.requests += Number(within(performance.now()))));
  const waiter = async (index) => {
    const acquire = kinds[kind](`contention-${run}-${index % names}`, { ...of, index });
    for (let asked = performance.now(); asked < end || (waiting > 0 && asked < end + PATIENCE_MS); asked = performance.now()) {
      waiting += Number(within(asked));
      const release = await acquire();
      const granted = performance.now();
      figures.turns[index] += Number(within(granted));
      if (within(asked)) {
        waiting--;
        figures.waits_ms.push(granted - asked);
      }
      const held = await hold();
      figures.held_ms += held;
      await release();
      figures.all_turns++;
      // A turn begins when everything that arrived meanwhile was handled, as each request of a
      // server does.
      await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: waiters }, (_, index) => waiter(index)));
  return figures;
}

// The milliseconds of bare requests, one after another, for which Redis does no work.
async function ping({ count }) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const round_trips_ms = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await (await fetch(url, { method: "POST", headers, body: '["PING"]' })).json();
    round_trips_ms.push(performance.now() - start);
  }
  return { round_trips_ms };
}

const actions = { contend, ping };

serve((target) => {
  const { pathname, searchParams } = new URL(target, "http://localhost");
  const { kind, ...numbers } = Object.fromEntries(searchParams);
  const options = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Number(value)]));
  return actions[pathname.slice(1)]({ kind, ...options }).then(JSON.stringify);
});
