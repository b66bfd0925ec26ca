-- Shared: gives a key `ms` from now, unless it has more: a request that comes late must not cut what a later one gave.
--
-- What it has is written again, so that who waits for replicas behind this waits for what an earlier request wrote.
--
-- provides  prolong
local function prolong(key, ms)
  redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), tonumber(ms)))
end
