-- Shared: which waiters may be handed what is free.
--
-- A waiter that does not listen is passed over, and takes the lock when it asks. Two are not passed
-- over: a fair waiter, whose turn it is, and the first one, once it was overtaken for so long. The
-- lock is then kept for the first one while it counts as alive, and it finds it when it asks.
--
-- Only a waiter that NUMSUB counts is told. On a cluster a message reaches all nodes, and the count
-- is this node's. So a lock that was announced first, and taken back since nobody was counted,
-- could have been heard of elsewhere.
--
-- provides  listens may_be_overtaken
-- needs     ALIVE NOW_MS OVERTAKEN integer
local OVERTAKEN_MS = 2000
local function listens(channel)
  local heard = redis.pcall('PUBSUB', 'NUMSUB', channel)
  return (tonumber(heard[2]) or 0) > 0
end
-- ALIVE also has since when. A time that is still to come is from before the clock was set back.
local function may_be_overtaken(first)
  redis.call('ZADD', ALIVE, 'LT', integer(NOW_MS), OVERTAKEN .. first)
  local since = redis.call('ZSCORE', ALIVE, OVERTAKEN .. first)
  return NOW_MS - since < OVERTAKEN_MS
end
