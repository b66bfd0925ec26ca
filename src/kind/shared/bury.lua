-- Shared: removes a waiter from the queue. ALIVE has until when it counts as alive, and since when
-- the first waiter is overtaken.
--
-- provides  OVERTAKEN bury
-- needs     ALIVE QUEUE
local OVERTAKEN = 'overtaken '
local function bury(waiter)
  redis.call('ZREM', QUEUE, waiter)
  redis.call('ZREM', ALIVE, waiter, OVERTAKEN .. waiter)
end
