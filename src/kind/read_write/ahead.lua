-- Shared: the waiter that goes ahead of this one. For a writer, any that came earlier; for a
-- reader, a writer that did.
--
-- provides  ahead
-- needs     QUEUE WAITER liveness_left
local function ahead()
  for place = 0, 99 do
    local waiter = redis.call('ZRANGE', QUEUE, place, place)[1]
    if not waiter or waiter == WAITER then return nil end
    local reads = ARGV[8] == 'r' and string.find(waiter, '^%S+ %d+ %lr')
    if not reads and liveness_left(waiter) > 0 then return waiter end
  end
end
