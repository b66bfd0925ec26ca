-- Shared: how all of several holders go at once.
--
-- provides  wipe
-- needs     HOLDERS HOLDS wake
local function wipe()
  redis.call('DEL', HOLDERS, HOLDS)
  wake()
end
