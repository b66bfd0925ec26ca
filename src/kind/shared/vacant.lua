-- Shared: while somebody holds the lock, nobody is handed it.
--
-- needs     NAME notify
local notify_next = notify
notify = function()
  if redis.call('EXISTS', NAME) == 0 then notify_next() end
end
