-- Shared: removes all of several holders at once.
--
-- provides  wipe
-- needs     HOLDERS HOLDS wake
local function wipe()
  redis.call('DEL', HOLDERS, HOLDS)
  wake()
end
