-- Shared: a lock as a hash, owner to count, as Redisson's RLock is stored; its waiters hear of a release on Redisson's channel.
--
-- The hash has no place for more. HOLD is '<fence> <owner>' of who has it, so that all entries of one hold have one fence;
-- ENTRY, one for each entry, is the fence of the hold in which this one counts, so that nobody leaves twice, or leaves a later hold.
local OWNER, HOLD, ENTRY = ARGV[2], KEYS[7], KEYS[8]
local CHANNEL = 'redisson_lock__channel:' .. (string.find(NAME, '{', 1, true) and NAME or '{' .. NAME .. '}')
local function held_fence()
  local fence, holder = string.match(redis.call('GET', HOLD) or '', '^(%d+) (.*)$')
  return holder == OWNER and fence
end
local function is_held()
  local fence = redis.call('GET', ENTRY)
  return fence and fence == held_fence() and redis.pcall('HEXISTS', NAME, OWNER) == 1
end
local function holder_and_count() return unpack(redis.call('HGETALL', NAME)) end
-- Never shorter: another entry may need it for longer. The same is written again, for who waits for replicas behind it.
local function extend(ms)
  for _, key in ipairs({ NAME, HOLD, ENTRY }) do
    local left = redis.call('PTTL', key)
    if left >= 0 and left <= tonumber(ms) then redis.call('PEXPIRE', key, ms) end
  end
end
local function wake() redis.pcall('PUBLISH', CHANNEL, '0') end
local function wipe()
  redis.call('DEL', NAME, HOLD)
  wake()
end
local function free()
  redis.call('DEL', ENTRY)
  if redis.call('HINCRBY', NAME, OWNER, -1) <= 0 then wipe() end
end
