-- Lets a call through if none was for as long as its window, or says for how long that lasts.
--
-- KEYS  1 throttle · 2 receipt
-- ARGV  1 nonce · 2 token · 3 window in ms
-- reply {1, nonce}      it passed
--       {0, nonce, ms}  another did, and the window ends after that long
--       {-1, nonce}     it was given back: a straggler
--
-- A repeat of a call that passed is told the same, also when its window is over and another passed
-- since.
local RECEIPT_MS = 30000
local last, before = unpack(redis.call('MGET', KEYS[1], KEYS[2]))
if before then return { tonumber(before), ARGV[1] } end
if last then
  local left = redis.call('PTTL', KEYS[1])
  -- What never ends is none of ours, and stays. Of a string this is the error WRONGTYPE.
  if left == -1 then redis.call('ZCARD', KEYS[1]) end
  return { 0, ARGV[1], math.max(left, 1) }
end
-- So is what has another type, of which MGET says nothing.
if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then redis.call('GET', KEYS[1]) end
redis.call('SET', KEYS[2], '1', 'PX', RECEIPT_MS)
return { 1, ARGV[1] }
