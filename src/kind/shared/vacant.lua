-- Shared: while somebody holds the lock, nobody is handed it.
--
-- needs     NAME wake
local wake_next = wake
wake = function()
  if redis.call('EXISTS', NAME) == 0 then wake_next() end
end
