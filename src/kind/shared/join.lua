-- Shared: a caller that is refused is told why, and joins the queue if it waits.
--
-- Its place is behind all who wait already, even if the clock was set back since they came.
--
-- The time that it is told is no earlier than the last fence. So a hand-over from before has no
-- higher fence than that, even if the clock was set back in between: fences only grow.
--
-- provides  WAITER head join refuse
-- needs     ALIVE NOW_MS NOW_US QUEUE integer last_fence liveness_left remove_waiter run
local WAITER = ARGV[5]
local function head()
  while true do
    local first = redis.call('ZRANGE', QUEUE, 0, 0)[1]
    if not first then return nil end
    if liveness_left(first) > 0 then return first end
    remove_waiter(first)
  end
end
local function join()
  if liveness_left(WAITER) <= 0 then remove_waiter(WAITER) end
  local last = redis.call('ZRANGE', QUEUE, -1, -1, 'WITHSCORES')[2] or 0
  redis.call('ZADD', QUEUE, 'NX', integer(math.max(NOW_US, last + 1)), WAITER)
  redis.call('ZADD', ALIVE, integer(NOW_MS + ARGV[4]), WAITER)
  for _, key in ipairs({ QUEUE, ALIVE }) do
    if redis.call('PTTL', key) < tonumber(ARGV[4]) then redis.call('PEXPIRE', key, ARGV[4]) end
  end
end
local function refuse(ms, label)
  -- First what may fail: nobody waits who was told of an error.
  local now, first = integer(math.max(NOW_US, last_fence() or 0)), head()
  local place
  if WAITER == '' then
    place = redis.call('ZCARD', QUEUE)
  else
    join()
    place = redis.call('ZRANK', QUEUE, WAITER)
  end
  return { 0, ARGV[1], ms, place, now, label or '', string.find(ARGV[6], 'r') and run(9) or nil }
end
