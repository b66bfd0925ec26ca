-- Takes a reentrant lock, or enters it once more, or says how long its holder has left.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… keys of the reads
-- ARGV  1 nonce · 2 owner · 3 ttl in ms · 6 with r to have the results if it is refused, too ·
--       4, 5, 7 and 8 not used · 9 as in life.lua · 10… reads
-- reply {1, nonce, fence, results}  entered by this owner, with at least the full ttl
--       {0, nonce, ms, place, time, '', results}
--                                   another holds it for that long (-1: without end); the place is
--                                   0, since nobody queues, and so is the time; the results only if
--                                   they were asked for
--       {-1, nonce}                 a straggler: this entry was abandoned, or has ended
--
-- Asking again for the same entry is harmless: the same fence, the same count.
--
-- needs     DONE ENTRY HOLDS LAST NAME OWNER WENT enter extend has_mine hold_of is_held next_fence
-- needs     owners prolong prolong_record refuse_others run save till
refuse_others()
if is_held() then
  extend(ARGV[3])
  return { 1, ARGV[1], (hold_of(ENTRY)), run(10) }
end
if WENT or DONE then return { -1, ARGV[1] } end
local mine = owners[1] == OWNER
if owners[1] and not mine then
  return { 0, ARGV[1], redis.call('PTTL', NAME), 0, 0, '', string.find(ARGV[6], 'r') and run(10) or nil }
end
local fence, ttl = has_mine(OWNER) and hold_of('-'), nil
if not fence then
  fence, ttl = next_fence(), ARGV[3]
  LAST, HOLDS, till = fence, '', {}
end
enter(fence, ARGV[3], ARGV[3])
-- The record first: if that fails, nothing is counted.
save(ttl)
redis.call('HINCRBY', NAME, OWNER, 1)
if mine then prolong(NAME, ARGV[3]) else redis.call('PEXPIRE', NAME, ARGV[3]) end
if not ttl then prolong_record(ARGV[3]) end
return { 1, ARGV[1], fence, run(10) }
