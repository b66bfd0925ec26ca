-- Raises what this server has of a lock to the fence of the hold.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue
-- ARGV  1 nonce · 2 token · 3 fence · 4 ttl in ms · 5 label
-- reply {1, nonce}  done: the lock is held
--       {0, nonce}  lost
--
-- needs     is_held raise_fence
if not is_held() then return { 0, ARGV[1] } end
raise_fence(ARGV[3], ARGV[4], ARGV[5])
return { 1, ARGV[1] }
