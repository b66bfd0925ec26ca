-- Shared: a lock as a hash, owner to count, as Redisson's RLock is stored; its waiters hear of a
-- release on Redisson's channel.
--
-- The hash has no place for more, so the rest is stored beside it:
--
-- - HOLD is '<fence> <owner>' of the holder. So all entries of one hold have one fence.
-- - ENTRY, one for each entry, is '<fence> <ttl>': the fence of the hold in which it counts, and
--   the ttl in ms that it entered for. So nobody leaves twice, or leaves a later hold.
-- - ENTRIES is a sorted set: '<fence> <ENTRY>' → until when that entry counts, in Redis's ms. An
--   entry that is not in it does not count: ENTRY alone comes back if it ran out, and Redis's clock
--   is set back then.
--
-- provides  ENTRIES ENTRY HOLD OWNER acquired delete held_fence is_held leave notify release_one
-- needs     NAME
local OWNER, HOLD, ENTRY, ENTRIES = ARGV[2], KEYS[7], KEYS[8], KEYS[9]
local CHANNEL = 'redisson_lock__channel:' .. (string.find(NAME, '{', 1, true) and NAME or '{' .. NAME .. '}')
local function held_fence()
  local fence, holder = string.match(redis.call('GET', HOLD) or '', '^(%d+) (.*)$')
  return holder == OWNER and fence
end
local function acquired() return string.match(redis.call('GET', ENTRY) or '', '^(%d+) (%d+)$') end
local function is_held()
  local fence = acquired()
  return fence and fence == held_fence() and redis.pcall('HEXISTS', NAME, OWNER) == 1
    and redis.pcall('ZSCORE', ENTRIES, fence .. ' ' .. ENTRY)
end
local function notify() redis.pcall('PUBLISH', CHANNEL, '0') end
local function delete()
  redis.call('DEL', NAME, HOLD, ENTRIES)
  notify()
end
local function leave(owner)
  if redis.call('HINCRBY', NAME, owner, -1) <= 0 then delete() end
end
local function release_one()
  redis.pcall('ZREM', ENTRIES, acquired() .. ' ' .. ENTRY)
  redis.call('DEL', ENTRY)
  leave(OWNER)
end
