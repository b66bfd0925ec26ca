-- Gives up a call, whatever became of it: the window that it began is over, and a pass that arrives
-- late is refused.
--
-- KEYS  1 throttle · 2 receipt
-- ARGV  1 nonce · 2 token
-- reply {1, nonce}  it had passed
--       {0, nonce}  it had not
local GONE_MS = 60000
local passed = redis.pcall('GET', KEYS[1]) == ARGV[2]
if passed then redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[2], '-1', 'PX', GONE_MS)
return { passed and 1 or 0, ARGV[1] }
