-- Shared: who waits for one of the names that is free now is handed it.
--
-- provides  notify
-- wraps     notify
-- needs     each
local notify_one = notify
local function notify()
  each(function() notify_one() end)
end
