-- Takes the lock at one of several servers, if it is free there.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 7 label · 8 ms for which this server must have been up ·
--       4 to 6 not used
-- reply {1, nonce, fence, ''}     held by this token, with the full ttl
--       {0, nonce, ms, 0, time, label}  held by another for that long (-1: without end)
--       {-2, nonce, ms}           for that long not this server's to give
--       {-1, nonce}               this token was abandoned, given back or lost: a straggler
--
-- needs     GONE NAME NOW_US hold_of integer keep_fence last_fence missing_uptime next_fence
-- needs     prolong
local holder = redis.call('GET', NAME)
local mine = holder == ARGV[2]
if not mine then
  if redis.call('EXISTS', GONE) > 0 then return { -1, ARGV[1] } end
  if holder then
    local _, _, label = hold_of(holder)
    return { 0, ARGV[1], redis.call('PTTL', NAME), 0, integer(NOW_US), label or '' }
  end
  local missing = missing_uptime(ARGV[8])
  if missing > 0 then return { -2, ARGV[1], missing } end
end
local fence = mine and last_fence()
if not fence then
  fence = next_fence()
  -- The hold's fence is known only once a majority has voted. This server may know it: it raised it
  -- before the hold ran out here.
  keep_fence(fence, ARGV[2], hold_of(ARGV[2]) or 0, ARGV[3], ARGV[7])
end
if mine then prolong(NAME, ARGV[3]) else redis.call('SET', NAME, ARGV[2], 'PX', ARGV[3]) end
return { 1, ARGV[1], fence, '' }
