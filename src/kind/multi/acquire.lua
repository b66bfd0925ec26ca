-- Takes all names, or none. If one of them is not to be had, it says for how long, and joins the
-- queue of that name.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… as in look.lua, then keys of the reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive · 5 waiter,
--       empty not to wait · 6 f to wait for its turn, b to barge; then r to have the results if it
--       is refused, too · 7 label · 8 not used · 9 ms for which the records outlast the hold ·
--       10… reads
-- reply {1, nonce, fence, results}  all are held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results, at, kept}
--                                   another holds the name at this place, from 1, for that long
--                                   (-1: without end), or it is free for the first in its queue;
--                                   the others as for a mutex; the results are empty unless they
--                                   were asked for; for how many ms a name that is free is kept
--                                   for this waiter, if it is
--       {-1, nonce}                 a straggler: this token was abandoned, has ended, or has lost
--                                   some of the names
--
-- Asking again with the same token is harmless, as with a mutex.
--
-- A waiter that barges stands in one queue, that of the name which is not to be had. A fair one
-- stands in all from the beginning. So of two that want some of the same names, one is first for
-- all of these. A waiter that leaves the queue of a free name tells the next one, since the name
-- may have been kept free for it. So does a fair one that does not insist on a free name any more.
-- A name of another type is told before any queue is joined.
--
-- Others may have taken a fair one for dead at one name alone, while the clock was ahead. Behind
-- them there, and ahead of them elsewhere, it would wait in a circle. So it joins all queues anew.
--
-- needs     DONE FENCE FENCE_MS HOLDER KEPT NAME WAITER WENT each extend head hold_of insists
-- needs     integer is_held join keep line_of liveness_left next_fence notify number_at prolong
-- needs     refuse remove_waiter run save
each(function() FENCE_MS = math.max(FENCE_MS, ARGV[9]) end)
local held, fair = is_held(), string.find(ARGV[6], 'f')
local taken, ms, label
if not held then
  local has_part = each(function() return HOLDER == ARGV[2] end)
  if has_part or WENT or DONE then return { -1, ARGV[1] } end
  taken = each(function(at)
    if HOLDER then
      ms, label = redis.call('PTTL', NAME), select(4, hold_of(HOLDER))
      return at
    end
    local first = fair and head()
    if first and first ~= WAITER then
      ms = liveness_left(first)
      return at
    end
  end)
end
-- Keys of another type are told before anything is done.
local unknown = {}
each(function()
  if not HOLDER then unknown[#unknown + 1] = NAME end
  if not KEPT then unknown[#unknown + 1] = FENCE end
end)
if unknown[1] and redis.call('EXISTS', unpack(unknown)) > 0 then
  for _, key in ipairs(unknown) do redis.call('GET', key) end
end
if taken then
  local reply, kept
  if fair and each(function() return liveness_left(WAITER) <= 0 end) then
    each(function() remove_waiter(WAITER) end)
  end
  each(function(at)
    if at == taken then
      reply = refuse(ms, label)
    elseif WAITER ~= '' and fair then
      join()
      if not HOLDER then
        notify(true)
        local at = line_of(WAITER)
        kept = at and insists(number_at(at + 28))
      end
    elseif liveness_left(WAITER) > 0 then
      remove_waiter(WAITER)
      notify()
    end
  end)
  reply[7], reply[8], reply[9] = reply[7] or '', taken, kept or nil
  return reply
end
each(function() remove_waiter(WAITER) end)
local fence = held and hold_of(ARGV[2])
if fence then
  extend(ARGV[3])
  each(function() save() end)
else
  fence = 0
  each(function() fence = math.max(fence, next_fence()) end)
  fence = integer(fence)
  each(function()
    keep(fence, ARGV[2], fence, ARGV[3], ARGV[7])
    if HOLDER then prolong(NAME, ARGV[3]) else redis.call('SET', NAME, ARGV[2], 'NX', 'PX', ARGV[3]) end
  end)
end
return { 1, ARGV[1], fence, run(10) }
