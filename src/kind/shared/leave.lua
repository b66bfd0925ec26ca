-- Shared: removes one of several holders.
--
-- provides  free
-- needs     HOLDERS HOLDS wake
local function free()
  redis.call('ZREM', HOLDERS, ARGV[2])
  redis.call('HDEL', HOLDS, ARGV[2])
  wake()
end
