-- Keeps the fence that the majority issued, and makes every later one of this server higher.
--
-- KEYS  1 name · 2 receipt · 3 fence
-- ARGV  1 nonce · 2 token · 3 fence · 4 ttl in ms · 5 label
-- reply {1, nonce}  done: the lock is held
--       {0, nonce}  lost
--
-- A straggler of an earlier round of the same token has a lower fence, and changes nothing.
--
-- needs     hold_of is_held keep_fence last_fence whole
if not is_held() then return { 0, ARGV[1] } end
local fence = whole(math.max(hold_of(ARGV[2]) or 0, ARGV[3]))
keep_fence(whole(math.max(last_fence() or 0, fence)), ARGV[2], fence, ARGV[4], ARGV[5])
return { 1, ARGV[1] }
