-- Shared: gives a key `ms` from now, unless it has more: a request that comes late must not shorten
-- what a later one gave.
--
-- The expiry is written even if it does not change. So a wait for replicas behind this also waits
-- for what an earlier request wrote.
--
-- provides  prolong
local function prolong(key, ms)
  redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), tonumber(ms)))
end
