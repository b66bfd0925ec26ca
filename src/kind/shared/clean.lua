-- Shared: removes those of several holders that have ended, as Redis does with keys. If its clock
-- is set back later, a holder must not come back that was told that its lock is lost, or that gave
-- it up. Who is not in HOLDS is another program's, and stays.
--
-- needs     HOLDERS HOLDS NOW_MS integer
for _, token in ipairs(redis.pcall('ZRANGEBYSCORE', HOLDERS, '-inf', '(' .. integer(NOW_MS))) do
  if redis.call('HEXISTS', HOLDS, token) == 1 then
    redis.call('ZREM', HOLDERS, token)
    redis.call('HDEL', HOLDS, token)
  end
end
