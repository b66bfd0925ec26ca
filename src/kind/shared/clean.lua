-- Shared: those of several holders that are over go, as a key that is over does when it is looked at: a clock that is set back must not bring back
-- one whose holder was told that it is lost, or who gave it up.
--
-- needs     HOLDERS HOLDS NOW_MS whole
for _, token in ipairs(redis.pcall('ZRANGEBYSCORE', HOLDERS, '-inf', '(' .. whole(NOW_MS))) do
  redis.call('ZREM', HOLDERS, token)
  redis.call('HDEL', HOLDS, token)
end
