-- Shared: as long as one has the lock, it is nobody's turn.
--
-- needs     NAME wake
local wake_next = wake
wake = function()
  if redis.call('EXISTS', NAME) == 0 then wake_next() end
end
