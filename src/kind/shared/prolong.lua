-- Shared: gives a key `ms` from now, unless it has more: a request that comes late must not shorten
-- what a later one gave. Returns what the key has then.
--
-- The expiry is written even if it does not change. So a wait for replicas behind this also waits
-- for what an earlier request wrote.
--
-- The record of a lock lasts longer than it must, and so need not be prolonged each time.
--
-- provides  prolong prolong_record
-- needs     FENCE FENCE_MS IS_OURS longest_life
local function prolong(key, ms)
  local left = math.max(redis.call('PTTL', key), tonumber(ms))
  redis.call('PEXPIRE', key, left)
  return left
end
local function prolong_record(ms)
  if IS_OURS and redis.call('PTTL', FENCE) < FENCE_MS + ms then redis.call('PEXPIRE', FENCE, longest_life() + ms) end
end
