-- Shared: removes all of several holders at once.
--
-- provides  delete
-- needs     HOLDERS HOLDS notify
local function delete()
  redis.call('DEL', HOLDERS, HOLDS)
  notify()
end
