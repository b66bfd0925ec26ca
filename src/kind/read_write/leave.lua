-- Shared: removes a reader, or the writer.
--
-- provides  release_one
-- needs     HOLDERS NAME NOW_MS forget notify
local function release_one()
  -- What another program keeps beside it must not keep the writer's name from being freed.
  pcall(forget, ARGV[2])
  -- To others it is held until the last reader ends.
  local last = redis.pcall('ZRANGE', HOLDERS, -1, -1, 'WITHSCORES')[2]
  if last then redis.call('PEXPIRE', NAME, last - NOW_MS) else redis.call('DEL', NAME) end
  notify()
end
