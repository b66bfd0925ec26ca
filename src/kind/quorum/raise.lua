-- Keeps the fence that the majority issued, and makes every later one of this server higher.
--
-- KEYS  1 name · 2 receipt · 3 fence
-- ARGV  1 nonce · 2 token · 3 fence · 4 ttl in ms · 5 label
-- reply {1, nonce}  done: the lock is held
--       {0, nonce}  lost
--
-- needs     integer is_held keep_fence last_fence
if not is_held() then return { 0, ARGV[1] } end
keep_fence(integer(math.max(last_fence() or 0, ARGV[3])), ARGV[2], ARGV[3], ARGV[4], ARGV[5])
return { 1, ARGV[1] }
