-- Shared: gives the lock, which is free now, to the first waiter that is alive and hears of it.
--
-- Whoever does not listen is passed over, and takes the lock when it asks. A fair one is not: it is its turn.
-- Only who is counted is told: on a cluster a message reaches all nodes, and the count is this one's, so a lock that was
-- told first and taken back for want of listeners could have been heard of elsewhere.
-- The lock is stored before it is told: if the one fails, nobody may hear the other.
local function listens(channel)
  local heard = redis.pcall('PUBSUB', 'NUMSUB', channel)
  return (tonumber(heard[2] or 0) or 0) > 0
end
local function hand_over()
  local place = 0
  for _ = 1, 100 do
    local waiter = redis.call('ZRANGE', QUEUE, place, place)[1]
    if not waiter then return end
    if alive_for(waiter) <= 0 then
      bury(waiter)
    else
      place = place + 1
      local token, ms, manner, channel = string.match(waiter, '^(%S+) (%d+) (%S) (.*)$')
      if channel ~= '' and listens(channel) then
        local fence = issue_fence()
        redis.call('SET', NAME, token, 'PX', ms)
        redis.pcall('PUBLISH', channel, fence .. ' ' .. whole(NOW_US))
        return bury(waiter)
      end
      if manner == 'f' then return end
    end
  end
end
-- Damage to the queue must not keep the lock from being freed.
local function wake() pcall(hand_over) end
local function wipe()
  redis.call('DEL', NAME)
  wake()
end
local free = wipe
