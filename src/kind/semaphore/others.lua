-- Shared: refuses a name that another program's semaphore has. That of redis-semaphore is a sorted
-- set too, of since when each permit is held. A permit of ours is in HOLDS, too. What CLEAN
-- leaves comes first: theirs are of the past.
--
-- provides  refuse_others
-- needs     HOLDERS HOLDS
local function refuse_others()
  local first = redis.call('ZRANGE', HOLDERS, 0, 0)[1]
  -- Of a sorted set this is the error WRONGTYPE.
  if first and redis.call('HEXISTS', HOLDS, first) == 0 then redis.call('GET', HOLDERS) end
end
