-- Gives up a call that nobody waits for: it goes through no more, and an arrival that comes late
-- overtakes nobody.
--
-- KEYS  1 debounce · 2 receipt
-- ARGV  1 nonce · 2 token
-- reply {1, nonce}  it was to go through
--       {0, nonce}  it was not, or not yet there
--
-- needs     CALLS ENDS RECEIPT TILL WAITING
local GONE_MS = 60000
-- A full Redis refuses what needs memory until a script has written something else.
redis.call('PEXPIRE', RECEIPT, GONE_MS)
local calls = string.gsub(CALLS or '', '(%d+) ([^;!]+)!?;', function(_, token) return token == ARGV[2] and '' or nil end)
local was_last = CALLS and calls ~= CALLS
if was_last then redis.call('SET', WAITING, table.concat({ 'v1', ENDS, TILL, calls }, ' '), 'KEEPTTL') end
redis.call('SET', RECEIPT, '-1', 'PX', GONE_MS)
return { was_last and 1 or 0, ARGV[1] }
