-- Overtakes the call that is the last so far, and says how long to wait before it asks whether it
-- is the last yet.
--
-- KEYS  1 debounce · 2 receipt
-- ARGV  1 nonce · 2 token · 3 how long it is to be quiet, in ms · 4 how long a burst lasts at most,
--       in ms
-- reply {1, nonce, ms}  it waits that long
--       {-1, nonce}     a straggler: it was given up, or told already
--
-- Asking again is harmless: it arrived when it did so first. A call whose time has come is not
-- overtaken any more, whether it has asked or not. Otherwise none would go through where calls come
-- faster than answers.
--
-- needs     KNOWN_MS NOW_MS RECEIPT WAITING
local before = redis.call('GET', RECEIPT)
if before then
  local at = tonumber(string.match(before, '^at (%d+)$'))
  if at then return { 1, ARGV[1], math.max(at - NOW_MS, 0) } end
  return { -1, ARGV[1] }
end
local goes_on = false
for _, other in ipairs(redis.call('ZRANGEBYSCORE', WAITING, '(' .. NOW_MS, '+inf')) do goes_on = goes_on or other ~= 'ends' end
local ends = goes_on and tonumber(redis.call('ZSCORE', WAITING, 'ends')) or NOW_MS + ARGV[4]
local at = math.min(NOW_MS + ARGV[3], ends)
local known = at - NOW_MS + KNOWN_MS
-- First what a Redis that is full refuses.
redis.call('SET', RECEIPT, 'at ' .. at, 'PX', known)
redis.call('ZREMRANGEBYSCORE', WAITING, '(' .. NOW_MS, '+inf')
-- Nothing is known any more of those that never asked.
redis.call('ZREMRANGEBYSCORE', WAITING, '-inf', '(' .. NOW_MS - KNOWN_MS)
redis.call('ZADD', WAITING, at, ARGV[2], ends, 'ends')
redis.call('PEXPIRE', WAITING, math.max(known, redis.call('PTTL', WAITING)))
return { 1, ARGV[1], at - NOW_MS }
