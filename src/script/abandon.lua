-- Gives up an acquisition whose outcome is unknown: an acquire that arrives late is refused.
--
-- KEYS  1 name · 2 gone
-- ARGV  1 nonce · 2 token
-- reply {1, nonce}  it was held, and is free now
--       {0, nonce}  it was not held
local GONE_MS = 60000
redis.call('SET', KEYS[2], '', 'PX', GONE_MS)
if redis.pcall('GET', KEYS[1]) ~= ARGV[2] then return { 0, ARGV[1] } end
redis.call('DEL', KEYS[1])
return { 1, ARGV[1] }
