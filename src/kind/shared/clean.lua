-- Shared: those of several holders that are over go.
--
-- needs     HOLDERS HOLDS NOW_MS whole
for _, token in ipairs(redis.pcall('ZRANGEBYSCORE', HOLDERS, '-inf', '(' .. whole(NOW_MS))) do
  redis.call('ZREM', HOLDERS, token)
  redis.call('HDEL', HOLDS, token)
end
