-- Gives up an acquisition whose outcome may be unknown. An acquire that arrives late is refused,
-- and the waiter leaves the queue.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · those of the kind
-- ARGV  1 nonce · 2 token, or owner · 3 waiter, empty if it did not wait
-- reply {1, nonce, ''}  it was held, and is no longer
--       {0, nonce}      it was not held
--
-- needs     GONE is_held notify release_one remove_waiter
local GONE_MS = 60000
-- Damage to the queue must not keep the lock from being freed.
if ARGV[3] ~= '' then pcall(remove_waiter, ARGV[3]) end
local held = is_held()
-- It may have been kept free for this waiter. Then it is the next one's turn.
if held then release_one() else notify() end
redis.call('SET', GONE, '', 'PX', GONE_MS)
if held then return { 1, ARGV[1], '' } end
return { 0, ARGV[1] }
