-- Shared: who may be handed what is free, of those who wait.
--
-- Whoever does not listen is passed over, and takes the lock when it asks. A fair one is not: it is its turn. Nor is the first one, once
-- it was overtaken for so long: then the lock is kept for it, for as long as it counts as alive, and it finds it when it asks.
-- Only who is counted is told: on a cluster a message reaches all nodes, and the count is this one's, so a lock that was
-- told first and taken back for want of listeners could have been heard of elsewhere.
--
-- provides  listens may_be_overtaken
-- needs     ALIVE NOW_MS OVERTAKEN whole
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
