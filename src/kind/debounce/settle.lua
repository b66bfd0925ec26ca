-- Lets a call through whose time has come, unless another overtook it.
--
-- KEYS  1 debounce · 2 receipt
-- ARGV  1 nonce · 2 token
-- reply {1, nonce}      it goes through
--       {0, nonce}      another came after it, and waits in its place
--       {2, nonce, ms}  its time has not come, and will after that long
--       {-1, nonce}     nothing is known of it: it asked too late, or Redis lost its data
--
-- A repeat is told the same.
--
-- needs     KNOWN_MS NOW_MS RECEIPT WAITING
local before = redis.call('GET', RECEIPT)
if before == '0' or before == '1' then return { tonumber(before), ARGV[1] } end
-- That of the last call is there for as long as any call of its burst is known.
if not before or not redis.call('ZSCORE', WAITING, 'ends') then return { -1, ARGV[1] } end
local at = tonumber(redis.call('ZSCORE', WAITING, ARGV[2]))
if at and at > NOW_MS then return { 2, ARGV[1], at - NOW_MS } end
redis.call('ZREM', WAITING, ARGV[2])
redis.call('SET', RECEIPT, at and '1' or '0', 'PX', KNOWN_MS)
return { at and 1 or 0, ARGV[1] }
