-- Takes all names, or none. If one of them is not to be had, it says for how long, and joins the
-- queue of that name.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · 7… as in names.lua, then keys
--       of the reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive · 5 waiter,
--       empty not to wait · 6 f to wait for its turn, b to barge; then r to have the results if it
--       is refused, too · 7 label · 8 not used · 9… reads
-- reply {1, nonce, fence, results}  all are held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results, at}
--                                   another holds the name at this place, from 1, for that long
--                                   (-1: without end), or it is free for the first in its queue;
--                                   the others as for a mutex; the results are empty unless they
--                                   were asked for
--       {-1, nonce}                 a straggler: this token was abandoned, has ended, or has lost
--                                   some of the names
--
-- Asking again with the same token is harmless, as with a mutex.
--
-- A waiter that barges stands in one queue, that of the name which is not to be had. A fair one
-- stands in all from the beginning. So of two that want some of the same names, one is first for
-- all of these. A waiter that leaves the queue of a free name tells the next one, since the name
-- may have been kept free for it. A name of another type is told before any queue is joined.
--
-- Others may have taken a fair one for dead at one name alone, while the clock was ahead. Behind
-- them there, and ahead of them elsewhere, it would wait in a circle. So it joins all queues anew.
--
-- needs     FENCE FENCE_MS GONE NAME QUEUE RECEIPT WAITER each head hold_of integer is_held join
-- needs     keep_fence liveness_left next_fence notify prolong refuse remove_waiter run
local held, fair = is_held(), string.find(ARGV[6], 'f')
local taken, ms, label
if not held then
  local has_part = each(function() return redis.call('GET', NAME) == ARGV[2] end)
  if has_part or redis.call('EXISTS', GONE, RECEIPT) > 0 then return { -1, ARGV[1] } end
  taken = each(function(at)
    local holder = redis.call('GET', NAME)
    if holder then
      ms, label = redis.call('PTTL', NAME), select(3, hold_of(holder))
      return at
    end
    local first = fair and head()
    if first and first ~= WAITER then
      ms = liveness_left(first)
      return at
    end
  end)
end
if taken then
  local reply
  if fair and each(function() return not redis.call('ZSCORE', QUEUE, WAITER) or liveness_left(WAITER) <= 0 end) then
    each(function() remove_waiter(WAITER) end)
  end
  each(function(at)
    if at == taken then
      reply = refuse(ms, label)
    elseif WAITER ~= '' and fair then
      join()
    elseif WAITER ~= '' then
      local left = redis.call('ZSCORE', QUEUE, WAITER)
      remove_waiter(WAITER)
      if left and redis.call('EXISTS', NAME) == 0 then notify() end
    end
  end)
  reply[7], reply[8] = reply[7] or '', taken
  return reply
end
local fence = held and hold_of(ARGV[2])
if fence then
  each(function() prolong(FENCE, FENCE_MS + ARGV[3]) end)
else
  fence = 0
  each(function() fence = math.max(fence, next_fence()) end)
  fence = integer(fence)
  each(function() keep_fence(fence, ARGV[2], fence, ARGV[3], ARGV[7]) end)
end
if WAITER ~= '' then
  each(function() remove_waiter(WAITER) end)
end
-- The names last: if anything above fails, none is held.
each(function()
  if held then prolong(NAME, ARGV[3]) else redis.call('SET', NAME, ARGV[2], 'PX', ARGV[3]) end
end)
return { 1, ARGV[1], fence, run(9) }
