// npm @upstash/redis with its defaults: auto-pipelining, base64, retries, telemetry,
// read-your-writes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "@upstash/redis";

const connection = { url: process.env.EDGELOCK_BRIDGE_URL, token: process.env.EDGELOCK_BRIDGE_CREDENTIAL };
const redis = new Redis(connection);
const raw = new Redis({ ...connection, automaticDeserialization: false });

test("strings, numbers and objects come back as they were", async () => {
  assert.equal(await redis.set("js:text", "hello"), "OK");
  assert.equal(await redis.get("js:text"), "hello");
  assert.equal(await redis.set("js:text", "other", { nx: true }), null);
  assert.equal(await redis.set("js:lock", "token", { nx: true, px: 30_000 }), "OK");
  assert.ok((await redis.pttl("js:lock")) > 0);
  await redis.set("js:object", { a: [1, "zwei", null] });
  assert.deepEqual(await redis.get("js:object"), { a: [1, "zwei", null] });
  await redis.set("js:number", 41);
  assert.equal(await redis.incr("js:number"), 42);
});

test("UTF-8 and what looks like binary survive base64", async () => {
  const values = ["tök 😀 \u2028", "\u0000\u0001\u007f", 'quote " and \\ and \r\n', "", "OK", "T0s=", "a".repeat(100_000)];
  for (const value of values) {
    await raw.set("js:bytes", value);
    assert.equal(await raw.get("js:bytes"), value);
  }
});

test("what is not there is null", async () => {
  assert.equal(await redis.get("js:none"), null);
  assert.deepEqual(await redis.mget("js:none", "js:none"), [null, null]);
  assert.equal(await redis.del("js:none"), 0);
  assert.equal(await redis.hgetall("js:none"), null);
});

test("hashes, lists and scans have the shapes that the client takes apart", async () => {
  await redis.hset("js:hash", { a: 1, b: "zwei" });
  assert.deepEqual(await redis.hgetall("js:hash"), { a: 1, b: "zwei" });
  await redis.rpush("js:list", "x", "y");
  assert.deepEqual(await redis.lrange("js:list", 0, -1), ["x", "y"]);
  const [cursor, keys] = await redis.scan(0, { match: "js:hash", count: 10_000 });
  assert.equal(cursor, "0");
  assert.deepEqual(keys, ["js:hash"]);
});

test("EVAL returns nested arrays, statuses and nil", async () => {
  const script = "return {1, {2, ARGV[1], {4}}, {ok='OK'}, {ok='FINE'}, false, KEYS[1]}";
  assert.deepEqual(await redis.eval(script, ["js:key"], ["tök"]), [1, [2, "tök", [4]], "OK", "FINE", null, "js:key"]);
});

test("EVALSHA, SCRIPT LOAD and the fallback to EVAL", async () => {
  const sha = await redis.scriptLoad("return ARGV[1] .. '!'");
  assert.equal(await redis.evalsha(sha, [], ["a"]), "a!");
  assert.deepEqual(await redis.scriptExists(sha, "f".repeat(40)), [1, 0]);
  await assert.rejects(redis.evalsha("f".repeat(40), [], []), /NOSCRIPT No matching script/);
  const script = redis.createScript("return {KEYS[1], ARGV[1], 'js'}");
  for (const round of ["first", "second"]) {
    assert.deepEqual(await script.exec(["k"], [round]), ["k", round, "js"]);
  }
});

test("scripts with Upstash's own flag run", async () => {
  const script = redis.createScript("#!lua flags=allow-key-locking\nreturn redis.call('INCR', KEYS[1])");
  assert.equal(await script.exec(["js:flagged"], []), 1);
  assert.equal(await script.exec(["js:flagged"], []), 2);
});

test("commands of one turn of the event loop travel together", async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => redis.set(`js:auto:${i}`, i)));
  assert.deepEqual(new Set(answers), new Set(["OK"]));
  const values = await Promise.all(Array.from({ length: 200 }, (_, i) => redis.get(`js:auto:${i}`)));
  assert.deepEqual(values, Array.from({ length: 200 }, (_, i) => i));
});

test("a pipeline gives results, or errors in their places", async () => {
  const pipeline = redis.pipeline().set("js:p", "v").lpush("js:p", "x").get("js:p");
  const results = await pipeline.exec({ keepErrors: true });
  assert.equal(results[0].result, "OK");
  assert.match(results[1].error, /^WRONGTYPE /);
  assert.equal(results[2].result, "v");
  await assert.rejects(redis.pipeline().set("js:p", "v").lpush("js:p", "x").exec(), /WRONGTYPE/);
});

test("a transaction gives results, or is discarded as a whole", async () => {
  assert.deepEqual(await redis.multi().set("js:m", 1).incrby("js:m", 9).get("js:m").exec(), ["OK", 10, 10]);
  await assert.rejects(redis.multi().set("js:m", 2).mset({}).exec(), /EXECABORT/);
  assert.equal(await redis.get("js:m"), 10);
});

test("errors are Redis' own", async () => {
  await redis.set("js:e", "text");
  await assert.rejects(redis.incr("js:e"), /ERR value is not an integer or out of range/);
  await assert.rejects(redis.eval("return redis.error_reply('MYERR of mine')", [], []), /MYERR of mine/);
  const stranger = new Redis({ ...connection, token: "wrong", retry: false });
  await assert.rejects(stranger.get("js:e"), /WRONGPASS/);
});

test("a subscriber hears what is published, until it unsubscribes", { timeout: 20_000 }, async () => {
  const subscriber = redis.subscribe(["js:channel/{a}:ö"]);
  const begun = new Promise((resolve) => subscriber.on("subscribe", resolve));
  const heard = [];
  const all = new Promise((resolve) => {
    subscriber.on("message", ({ channel, message }) => {
      heard.push([channel, message]);
      if (heard.length === 3) resolve();
    });
  });
  assert.equal(await begun, 1);
  for (const message of ["tök, with a comma", { an: "object" }, 7]) {
    assert.equal(await redis.publish("js:channel/{a}:ö", message), 1);
  }
  await all;
  assert.deepEqual(heard.map(([, message]) => message), ["tök, with a comma", { an: "object" }, 7]);
  assert.deepEqual(new Set(heard.map(([channel]) => channel)), new Set(["js:channel/{a}:ö"]));
  await subscriber.unsubscribe();
  while ((await redis.publish("js:channel/{a}:ö", "anybody?")) > 0);
});

test("a subscriber to a pattern hears all channels that match", { timeout: 20_000 }, async () => {
  const subscriber = redis.psubscribe(["js:{a}:ö:*"]);
  const begun = new Promise((resolve) => subscriber.on("psubscribe", resolve));
  const heard = [];
  const all = new Promise((resolve) => {
    subscriber.on("pmessage", (message) => {
      heard.push(message);
      if (heard.length === 2) resolve();
    });
  });
  assert.equal(await begun, 1);
  assert.equal(await redis.publish("js:{a}:ö:1", { an: "object, with a comma" }), 1);
  assert.equal(await redis.publish("js:{b}:ö:1", 1), 0);
  assert.equal(await redis.publish("js:{a}:ö:2", 7), 1);
  await all;
  const pattern = "js:{a}:ö:*";
  assert.deepEqual(heard, [
    { pattern, channel: "js:{a}:ö:1", message: { an: "object, with a comma" } },
    { pattern, channel: "js:{a}:ö:2", message: 7 },
  ]);
  await subscriber.unsubscribe();
  while ((await redis.publish("js:{a}:ö:2", "anybody?")) > 0);
});
