-- Refuses a name that Redisson's read/write lock has. That is a hash too, but its field `mode` has
-- a word, where an owner has a count. What another program keeps as ENTRIES is refused too: a
-- release would delete it.
--
-- needs     ENTRIES NAME
redis.call('ZCARD', ENTRIES)
local mode = redis.call('HGET', NAME, 'mode')
-- Of a hash this is the error WRONGTYPE.
if mode and not tonumber(mode) then redis.call('GET', NAME) end
