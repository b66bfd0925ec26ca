-- Shared: how a waiter leaves the queues of all names.
--
-- provides  remove_waiter
-- needs     each
local remove_from_one = remove_waiter
local function remove_waiter(waiter)
  each(function() remove_from_one(waiter) end)
end
