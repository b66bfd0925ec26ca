-- Shared: how a waiter leaves the queues of all names.
--
-- provides  bury
-- needs     each
local bury_one = bury
local function bury(waiter)
  each(function() bury_one(waiter) end)
end
