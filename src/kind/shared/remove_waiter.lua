-- Shared: removes a waiter from the queue. ALIVE has until when it counts as alive, and since when
-- the first waiter is overtaken.
--
-- provides  OVERTAKEN remove_waiter
-- needs     ALIVE QUEUE
local OVERTAKEN = 'overtaken '
local function remove_waiter(waiter)
  redis.call('ZREM', QUEUE, waiter)
  redis.call('ZREM', ALIVE, waiter, OVERTAKEN .. waiter)
end
