-- Takes a reentrant lock, or enters it once more, or says how long its holder has left.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · 7 hold · 8 entry · 9 entries ·
--       10… keys of the reads
-- ARGV  1 nonce · 2 owner · 3 ttl in ms · 6 with r to have the results if it is refused, too ·
--       4, 5, 7 and 8 not used · 9… reads
-- reply {1, nonce, fence, results}  entered by this owner, with at least the full ttl
--       {0, nonce, ms, place, time, '', results}
--                                   another holds it for that long (-1: without end); the place is
--                                   0, since nobody queues; Redis's time in microseconds; the
--                                   results only if they were asked for
--       {-1, nonce}                 a straggler: this entry was abandoned, or has ended
--
-- Asking again for the same entry is harmless: the same fence, the same count.
--
-- needs     ENTRY GONE HOLD NAME NOW_US OWNER RECEIPT acquired extend held_fence integer is_held
-- needs     issue_fence run
local again = is_held()
local fence = again and acquired()
if not again then
  if redis.call('EXISTS', GONE, RECEIPT) > 0 then return { -1, ARGV[1] } end
  local mine = redis.call('HEXISTS', NAME, OWNER) == 1
  if not mine and redis.call('EXISTS', NAME) == 1 then
    return { 0, ARGV[1], redis.call('PTTL', NAME), 0, integer(NOW_US), '', string.find(ARGV[6], 'r') and run(9) or nil }
  end
  fence = mine and held_fence()
  if not fence then
    fence = issue_fence('-', ARGV[3])
    redis.call('SET', HOLD, fence .. ' ' .. OWNER, 'PX', ARGV[3])
  end
  redis.call('SET', ENTRY, fence .. ' ' .. ARGV[3], 'PX', ARGV[3])
  redis.call('HINCRBY', NAME, OWNER, 1)
  if not mine then redis.call('PEXPIRE', NAME, ARGV[3]) end
end
extend(ARGV[3])
return { 1, ARGV[1], fence, run(9) }
