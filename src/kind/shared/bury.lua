-- Shared: how a waiter leaves the queue. Beside until when it is alive stands since when the first one is overtaken.
--
-- provides  OVERTAKEN bury
-- needs     ALIVE QUEUE
local OVERTAKEN = 'overtaken '
local function bury(waiter)
  redis.call('ZREM', QUEUE, waiter)
  redis.call('ZREM', ALIVE, waiter, OVERTAKEN .. waiter)
end
