-- Shared: how all go at once.
--
-- provides  wipe
-- needs     HOLDERS HOLDS NAME wake
local function wipe()
  redis.call('DEL', NAME, HOLDERS, HOLDS)
  wake()
end
