-- Refuses a name under which something else is stored, which is a hash too: data, or Redisson's
-- read/write lock. A lock has one field, and a count in it. What another program keeps as ENTRIES
-- is refused too: a release would delete it.
--
-- needs     ENTRIES NAME
redis.call('ZCARD', ENTRIES)
local fields = redis.call('HLEN', NAME)
-- Of a hash this is the error WRONGTYPE.
if fields > 1 or fields == 1 and not string.find(redis.call('HGETALL', NAME)[2], '^%d+$') then redis.call('GET', NAME) end
