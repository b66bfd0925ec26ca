-- Makes every later fence of this server higher than the one that the majority issued.
--
-- KEYS  1 name · 2 receipt · 3 fence
-- ARGV  1 nonce · 2 token · 3 fence
-- reply {1, nonce}  so it is, and the lock is held
--       {0, nonce}  lost
if not is_held() then return { 0, ARGV[1] } end
if tonumber(redis.call('GET', FENCE) or 0) < tonumber(ARGV[3]) then
  redis.call('SET', FENCE, ARGV[3], 'PX', FENCE_MS)
end
return { 1, ARGV[1] }
