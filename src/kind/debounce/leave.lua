-- Gives up a call that nobody waits for: it goes through no more, and an arrival that comes late
-- overtakes nobody.
--
-- KEYS  1 debounce · 2 receipt
-- ARGV  1 nonce · 2 token
-- reply {1, nonce}  it was the last
--       {0, nonce}  it was not, or not yet there
local GONE_MS = 60000
local was_last = redis.pcall('ZREM', KEYS[1], ARGV[2]) == 1
redis.call('SET', KEYS[2], '-1', 'PX', GONE_MS)
return { was_last and 1 or 0, ARGV[1] }
