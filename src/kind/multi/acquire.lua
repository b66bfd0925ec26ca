-- Takes all names, or none of them and says for how long one is not to be had, and joins the queue of that one.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · 7… as names.lua has them, then keys of the reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive · 5 waiter, empty not to wait ·
--       6 f to wait for its turn, b to barge, and behind that r to have the results where it is refused too · 7 label ·
--       8 not used · 9… reads
-- reply {1, nonce, fence, results}    all are held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results, at}  the name at this place, from 1, is held by another for that long (-1: without end), or free for
--                                     whoever waits at the head; the others as a mutex has them, with empty results if those are not asked for
--       {-1, nonce}                   this token was abandoned, or has already ended, or lost some of the names: a straggler
--
-- Asking again with the same token is harmless, as with a mutex. Who barges stands in one queue, that of the name which is not to be had. Who is fair
-- stands in all from the beginning: so of two that want some of the same names each of those has the same one first. Where one leaves a queue and the
-- name is free, that may have been left so for it, and the next is told. A name of another type is told before any queue is joined.
--
-- needs     FENCE FENCE_MS GONE NAME QUEUE RECEIPT WAITER each head hold_of integer is_held join keep_fence liveness_left next_fence notify prolong refuse remove_waiter run
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
