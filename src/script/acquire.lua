-- Takes the lock, or says how long its holder has left.
--
-- KEYS  1 name · 2 fence · 3 gone · 4 receipt · 5… keys of the reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4… reads
-- reply {1, nonce, fence, results}  held by this token, with the full ttl
--       {0, nonce, ms}              held by another, for that long (-1: without end)
--       {-1, nonce}                 this token was abandoned, or has already ended: a straggler
--
-- Asking again with the same token is harmless: the same fence, the full ttl.
local FENCE_MS = 604800000
local holder = redis.call('GET', KEYS[1])
local mine = holder == ARGV[2]
if not mine then
  if redis.call('EXISTS', KEYS[3], KEYS[4]) > 0 then return { -1, ARGV[1] } end
  if holder then return { 0, ARGV[1], redis.call('PTTL', KEYS[1]) } end
end
local fence = redis.call('GET', KEYS[2])
if not (mine and fence) then
  local time = redis.call('TIME')
  local next_fence = (tonumber(fence or 0) or 0) + 1
  fence = string.format('%.0f', math.max(next_fence, time[1] * 1000000 + time[2]))
end
redis.call('SET', KEYS[2], fence, 'PX', FENCE_MS)
-- The lock last: if anything above fails, nothing is held.
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return { 1, ARGV[1], fence, run(4) }
