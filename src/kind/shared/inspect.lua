-- Says who holds the lock, how often, for how long, what is known of the hold, how many wait, and
-- whether this server has a say. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue
-- ARGV  1 nonce · 2 ms for which this server must have been up to have a say, in a quorum
-- reply {1, nonce, RESP of: holder or nil, count, ms left (-1: without end, -2: free),
--                    the last fence and holds as record.lua has them or nil, waiters,
--                    ms for which it has no say yet}
--
-- needs     NAME holder_and_count known missing_uptime resp waiting
local holder, count = holder_and_count()
return { 1, ARGV[1], resp(holder) .. resp(count) .. resp(redis.call('PTTL', NAME)) .. resp(known()) .. resp(waiting()) .. resp(missing_uptime(ARGV[2])) }
