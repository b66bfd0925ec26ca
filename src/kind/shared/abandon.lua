-- Gives up an acquisition whose outcome may be unknown. An acquire that arrives late is refused,
-- and the waiter leaves the queue.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… those of the kind
-- ARGV  1 nonce · 2 token, or owner · 3 waiter, empty if it did not wait
-- reply {1, nonce, ''}  it was held, and is no longer
--       {0, nonce}      it was not held
--
-- provides  reply
-- needs     GONE free is_held
local GONE_MS = 60000
-- A full Redis refuses what needs memory until a script has written something else.
redis.call('PEXPIRE', GONE, GONE_MS)
local held = is_held()
if held then free() end
redis.call('SET', GONE, '', 'PX', GONE_MS)
-- It may have been kept free for this waiter. Then it is the next one's turn.
local reply = held and { 1, ARGV[1], '' } or { 0, ARGV[1] }
