-- Shared: removes one of several holders.
--
-- provides  release_one
-- needs     HOLDERS HOLDS notify
local function release_one()
  redis.call('ZREM', HOLDERS, ARGV[2])
  redis.pcall('HDEL', HOLDS, ARGV[2])
  notify()
end
