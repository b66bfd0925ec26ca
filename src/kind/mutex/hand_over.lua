-- Shared: gives the lock, which is free now, to the first waiter that is alive and hears of it.
--
-- Whoever does not listen is passed over, and takes the lock when it asks. A fair one is not: it is its turn. Nor is the first one, once
-- it was overtaken for so long: then the lock is kept for it, for as long as it counts as alive, and it finds it when it asks.
-- Only who is counted is told: on a cluster a message reaches all nodes, and the count is this one's, so a lock that was
-- told first and taken back for want of listeners could have been heard of elsewhere.
-- The lock is stored before it is told: if the one fails, nobody may hear the other.
--
-- provides  free wake wipe
-- needs     ALIVE NAME NOW_MS NOW_US OVERTAKEN QUEUE alive_for bury issue_fence whole
local OVERTAKEN_MS = 2000
local function listens(channel)
  local heard = redis.pcall('PUBSUB', 'NUMSUB', channel)
  return (tonumber(heard[2] or 0) or 0) > 0
end
-- Since when is kept beside until when it is alive.
local function may_be_overtaken(first)
  redis.call('ZADD', ALIVE, 'NX', whole(NOW_MS), OVERTAKEN .. first)
  local since = tonumber(redis.call('ZSCORE', ALIVE, OVERTAKEN .. first))
  if NOW_MS - since < OVERTAKEN_MS then return true end
end
-- Whoever listens elsewhere hears of a lock that is kept for less than its ttl too, and must ask for it.
local function give(waiter, most)
  local token, ms, ttl, label, channel = string.match(waiter, '^(%S+) (%d+) %S (%d+) (%S*) (.*)$')
  local fence = issue_fence(token, ttl, label)
  redis.call('SET', NAME, token, 'PX', whole(math.min(ms, most)))
  local told = tonumber(ms) <= most and fence .. ' ' .. whole(NOW_US) or '0'
  if channel ~= '' then redis.pcall('PUBLISH', channel, told) end
  bury(waiter)
end
local function hand_over()
  local place, first = 0, nil
  for _ = 1, 100 do
    local waiter = redis.call('ZRANGE', QUEUE, place, place)[1]
    if not waiter then return end
    if alive_for(waiter) <= 0 then
      bury(waiter)
    else
      place, first = place + 1, first or waiter
      local manner, channel = string.match(waiter, '^%S+ %d+ (%S) %d+ %S* (.*)$')
      if channel ~= '' and listens(channel) then
        if first == waiter or may_be_overtaken(first) then return give(waiter, math.huge) end
        return give(first, alive_for(first))
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
