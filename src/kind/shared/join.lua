-- Shared: a caller that is refused is told why, and joins the queue if it waits.
--
-- A waiter that asks again writes only until when it counts as alive. One that paused for so long
-- that it counted as dead goes behind all others. A waiter that is dead is removed when another
-- joins.
--
-- The time that it is told is no earlier than the last fence. So a hand-over from before has no
-- higher fence than that, even if the clock was set back in between: fences only grow. Who does not
-- wait is told no time.
--
-- Behind the first ones, it waits at QUEUE.
--
-- provides  WAITER head join refuse
-- needs     FENCE FEW KEPT LAST LATER QUEUE WAITERS check_record count digits gather integer
-- needs     line_of liveness_left living longest_life now_ms now_us others_wait run save waiting
-- needs     write
local WAITER = ARGV[5]
local function head()
  if WAITERS ~= '' then gather() end
  return string.match(WAITERS, '^%d+ %d+ %d+ ([^,]*),')
end
-- Returns how many wait ahead.
local function join_later(alive)
  local own, first = '+' .. WAITER, count(WAITERS)
  if liveness_left(WAITER) > 0 then
    redis.call('ZADD', QUEUE, integer(LATER + alive), own)
    return first + redis.call('ZRANK', QUEUE, WAITER)
  end
  -- Whoever is dead leaves the record, and may be this one.
  if not others_wait() then WAITERS = WAITERS .. '+' end
  save()
  redis.call('ZREM', QUEUE, WAITER)
  -- Behind all, even if the clock was set back.
  local ahead = redis.call('ZCOUNT', QUEUE, '-inf', '(' .. integer(LATER))
  local last = ahead > 0 and redis.call('ZRANGE', QUEUE, ahead - 1, ahead - 1, 'WITHSCORES')[2] or 0
  redis.call('ZADD', QUEUE, integer(math.max(now_us(), last + 1)), WAITER, integer(LATER + alive), own)
  redis.call('PEXPIRE', QUEUE, 3600000)
  return first + ahead
end
local function join()
  local alive = now_ms() + ARGV[4]
  local at = line_of(WAITER)
  -- Whoever is dead may have left WAITERS, and not the record yet.
  if at and liveness_left(WAITER) > 0 and string.sub(KEPT, -#WAITERS) == WAITERS then
    local head = #KEPT - #WAITERS
    write(at, alive)
    redis.call('SETRANGE', FENCE, head + at - 1, digits(alive))
    KEPT = string.sub(KEPT, 1, head) .. WAITERS
    return count(living(string.sub(WAITERS, 1, at - 1)))
  end
  gather()
  at = line_of(WAITER)
  local ahead = count(at and string.sub(WAITERS, 1, at - 1) or WAITERS)
  if at then
    write(at, alive)
  elseif others_wait() or ahead >= FEW then
    return join_later(alive)
  else
    WAITERS = table.concat({ WAITERS, digits(alive), ' ', digits(0), ' ', digits(now_ms()), ' ', WAITER, ',' })
  end
  save()
  return ahead
end
local function refuse(ms, label)
  -- First what may fail: nobody waits who was told of an error.
  check_record()
  local now, ahead = LAST or 0, nil
  if WAITER == '' then ahead = waiting() else now, ahead = integer(math.max(now_us(), now)), join() end
  -- Of another program's hold nobody prolongs the record.
  if WAITER ~= '' and not label then redis.call('PEXPIRE', FENCE, longest_life()) end
  return { 0, ARGV[1], ms, ahead, now, label or '', string.find(ARGV[6], 'r') and run(10) or nil }
end
