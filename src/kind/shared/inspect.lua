-- Says who holds the lock, how often, for how long, what is known of the hold, how many wait, and
-- whether this server has a say. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue
-- ARGV  1 nonce · 2 ms for which this server must have been up to have a say, in a quorum
-- reply {1, nonce, RESP of: holder or nil, count, ms left (-1: without end, -2: free), what
--                    FENCE is or nil, waiters,
--                    ms for which it has no say yet}
--
-- needs     FENCE NAME QUEUE holder_and_count missing_uptime resp
local holder, count = holder_and_count()
return { 1, ARGV[1], resp(holder) .. resp(count) .. resp(redis.call('PTTL', NAME)) .. resp(redis.call('GET', FENCE)) .. resp(redis.call('ZCARD', QUEUE)) .. resp(missing_uptime(ARGV[2])) }
