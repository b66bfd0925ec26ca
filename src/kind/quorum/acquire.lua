-- Takes the lock at one of several servers, if it is free there.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 7 label · 8 ms for which this server must have been up ·
--       4 to 6 not used
-- reply {1, nonce, fence, ''}     held by this token, with the full ttl
--       {0, nonce, ms, 0, 0, label}  held by another for that long (-1: without end)
--       {-2, nonce, ms}           for that long not this server's to give
--       {-1, nonce}               this token was abandoned, given back, or renewed: a straggler
--
-- needs     DONE HOLDER LAST NAME WENT hold_of keep missing_uptime next_fence prolong take
local mine = HOLDER == ARGV[2]
if not mine then
  if WENT or DONE then return { -1, ARGV[1] } end
  if HOLDER then return { 0, ARGV[1], redis.call('PTTL', NAME), 0, 0, select(4, hold_of(HOLDER)) or '' } end
  local missing = missing_uptime(ARGV[8])
  if missing > 0 then return { -2, ARGV[1], missing } end
end
local fence = mine and LAST
if fence then
  prolong(NAME, ARGV[3])
else
  fence = next_fence()
  -- The hold's fence is known only once a majority has voted. This server may know it: it raised it
  -- before the hold ran out here.
  take(ARGV[2], ARGV[3], function() keep(fence, ARGV[2], hold_of(ARGV[2]) or 0, ARGV[3], ARGV[7]) end)
end
return { 1, ARGV[1], fence, '' }
