// npm @upstash/ratelimit. Its scripts begin with a line that only Upstash knows, and it calls them
// by SHA-1.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";

const redis = new Redis({ url: process.env.EDGELOCK_BRIDGE_URL, token: process.env.EDGELOCK_BRIDGE_CREDENTIAL });

const limiters = {
  fixedWindow: Ratelimit.fixedWindow(3, "60 s"),
  slidingWindow: Ratelimit.slidingWindow(3, "60 s"),
  tokenBucket: Ratelimit.tokenBucket(3, "60 s", 3),
};

for (const [name, limiter] of Object.entries(limiters)) {
  test(`${name} lets three through`, async () => {
    // Without the cache in the process, each answer is Redis's own.
    const ratelimit = new Ratelimit({ redis, limiter, prefix: `limit:${name}`, ephemeralCache: false });
    const passed = [];
    for (let i = 0; i < 5; i += 1) {
      const { success, remaining } = await ratelimit.limit("somebody");
      passed.push([success, Math.max(remaining, 0)]);
    }
    assert.deepEqual(passed, [[true, 2], [true, 1], [true, 0], [false, 0], [false, 0]]);
    assert.equal((await ratelimit.limit("somebody else")).success, true);
    const { remaining } = await ratelimit.getRemaining("somebody");
    assert.ok(remaining <= 0);
    await ratelimit.resetUsedTokens("somebody");
    assert.equal((await ratelimit.limit("somebody")).success, true);
  });
}
