-- Shared: how one who reads goes, or the writer.
--
-- provides  free
-- needs     HOLDERS NAME NOW_MS forget wake
local function free()
  forget(ARGV[2])
  -- To others it is held for as long as the reader that ends last.
  local last = redis.call('ZRANGE', HOLDERS, -1, -1, 'WITHSCORES')[2]
  if last then redis.call('PEXPIRE', NAME, last - NOW_MS) else redis.call('DEL', NAME) end
  wake()
end
