"""PyPI upstash-redis with its defaults: base64, retries, telemetry, read-your-writes."""

import asyncio
import os
import unittest

from upstash_redis import Redis
from upstash_redis.asyncio import Redis as AsyncRedis
from upstash_redis.errors import UpstashError

URL = os.environ["EDGELOCK_BRIDGE_URL"]
TOKEN = os.environ["EDGELOCK_BRIDGE_CREDENTIAL"]


class UpstashRedis(unittest.TestCase):
    def setUp(self):
        self.redis = Redis(url=URL, token=TOKEN)
        self.addCleanup(self.redis.close)

    def test_strings_come_back_as_they_were(self):
        values = ["hello", "tök 😀 \u2028", "\0\1\x7f", 'quote " and \\ and \r\n', "", "OK", "T0s=", "a" * 100_000]
        for value in values:
            self.assertTrue(self.redis.set("py:text", value))
            self.assertEqual(self.redis.get("py:text"), value)

    def test_set_tells_whether_it_did(self):
        self.assertIs(self.redis.set("py:lock", "token", nx=True, px=30_000), True)
        self.assertIs(self.redis.set("py:lock", "other", nx=True, px=30_000), False)
        self.assertGreater(self.redis.pttl("py:lock"), 0)

    def test_numbers(self):
        self.redis.set("py:number", 2**53)
        self.assertEqual(self.redis.incr("py:number"), 2**53 + 1)
        self.assertEqual(self.redis.incrbyfloat("py:float", 1.5), 1.5)

    def test_what_is_not_there_is_none(self):
        self.assertIsNone(self.redis.get("py:none"))
        self.assertEqual(self.redis.mget("py:none", "py:none"), [None, None])

    def test_hashes_have_the_shape_that_the_client_takes_apart(self):
        self.redis.hset("py:hash", values={"a": 1, "b": "zwei"})
        self.assertEqual(self.redis.hgetall("py:hash"), {"a": "1", "b": "zwei"})

    def test_eval_returns_nested_arrays_statuses_and_nil(self):
        script = "return {1, {2, ARGV[1], {4}}, {ok='OK'}, {ok='FINE'}, false, KEYS[1]}"
        expected = [1, [2, "tök", [4]], "OK", "FINE", None, "py:key"]
        self.assertEqual(self.redis.eval(script, keys=["py:key"], args=["tök"]), expected)

    def test_evalsha(self):
        sha = self.redis.script_load("return ARGV[1] .. '!'")
        self.assertEqual(self.redis.evalsha(sha, args=["a"]), "a!")
        self.assertEqual(self.redis.script_exists(sha, "f" * 40), [True, False])
        with self.assertRaisesRegex(UpstashError, "NOSCRIPT"):
            self.redis.evalsha("f" * 40)

    def test_pipeline(self):
        pipeline = self.redis.pipeline()
        pipeline.set("py:p", "tök")
        pipeline.get("py:p")
        pipeline.get("py:none")
        self.assertEqual(pipeline.exec(), [True, "tök", None])

    def test_multi(self):
        transaction = self.redis.multi()
        transaction.set("py:m", 1)
        transaction.incrby("py:m", 9)
        self.assertEqual(transaction.exec(), [True, 10])

    def test_errors_are_those_of_redis(self):
        self.redis.set("py:e", "text")
        with self.assertRaisesRegex(UpstashError, "^ERR value is not an integer or out of range$"):
            self.redis.incr("py:e")
        with self.assertRaisesRegex(UpstashError, "^MYERR of mine$"):
            self.redis.eval("return redis.error_reply('MYERR of mine')")
        with self.assertRaisesRegex(UpstashError, "^WRONGPASS"):
            Redis(url=URL, token="wrong").get("py:e")

    def test_the_asynchronous_client(self):
        async def work():
            async with AsyncRedis(url=URL, token=TOKEN) as redis:
                await asyncio.gather(*(redis.incr("py:async") for _ in range(50)))
                return await redis.get("py:async")

        self.assertEqual(asyncio.run(work()), "50")


if __name__ == "__main__":
    unittest.main()
