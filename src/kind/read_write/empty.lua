-- Shared: removes all holders at once.
--
-- provides  wipe
-- needs     HOLDERS HOLDS NAME wake
local function wipe()
  redis.call('DEL', NAME, HOLDERS, HOLDS)
  wake()
end
