-- Shared: removes all holders at once.
--
-- provides  delete
-- needs     HOLDERS HOLDS NAME notify
local function delete()
  redis.call('DEL', NAME, HOLDERS, HOLDS)
  notify()
end
