-- Shared: somebody reads for `ms` from now: the one that came last, the writer until now, or a
-- reader.
--
-- provides  read
-- needs     HOLDERS HOLDS NAME NOW_MS hold integer
local function read(token, ms)
  redis.call('HSET', HOLDS, token, hold(token))
  redis.call('ZADD', HOLDERS, integer(NOW_MS + ms), token)
  -- All keys last as long as the reader that ends last. The name comes last: if anything before
  -- fails, nobody reads.
  local life = math.max(redis.call('PTTL', NAME), ms)
  redis.call('PEXPIRE', HOLDERS, life)
  redis.call('PEXPIRE', HOLDS, life)
  redis.call('SET', NAME, 'readers', 'PX', life)
end
