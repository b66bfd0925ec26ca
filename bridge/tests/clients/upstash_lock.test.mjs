// npm @upstash/lock over @upstash/redis, both with their defaults.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Lock } from "@upstash/lock";
import { Redis } from "@upstash/redis";

const redis = new Redis({ url: process.env.EDGELOCK_BRIDGE_URL, token: process.env.EDGELOCK_BRIDGE_CREDENTIAL });
const lock = (id, options = {}) => new Lock({ id, lease: 20_000, redis, retry: { attempts: 1, delay: 1 }, ...options });

test("one holds, others do not, until it is released", async () => {
  const [mine, yours] = [lock("lock:one"), lock("lock:one")];
  assert.equal(await mine.acquire(), true);
  assert.equal(await yours.acquire(), false);
  assert.equal(await mine.getStatus(), "ACQUIRED");
  assert.equal(await yours.release(), false);
  assert.equal(await mine.release(), true);
  assert.equal(await yours.acquire(), true);
  assert.equal(await mine.getStatus(), "FREE");
});

test("a lease is extended", async () => {
  const mine = lock("lock:extended");
  assert.equal(await mine.acquire(), true);
  assert.equal(await mine.extend(100_000), true);
  assert.ok((await redis.pttl("lock:extended")) > 100_000);
});

test("ten at once: one after the other", async () => {
  let inside = 0;
  const work = async () => {
    const mine = lock("lock:ten", { retry: { attempts: 1000, delay: 5 } });
    assert.equal(await mine.acquire(), true);
    inside += 1;
    assert.equal(inside, 1);
    await redis.incr("lock:ten:count");
    inside -= 1;
    assert.equal(await mine.release(), true);
  };
  await Promise.all(Array.from({ length: 10 }, work));
  assert.equal(await redis.get("lock:ten:count"), 10);
});
