-- Shared: how a waiter leaves the queues of all names, and gives back what it has of them.
--
-- provides  remove_waiter
-- wraps     remove_waiter
-- needs     each free
local remove_from_one = remove_waiter
local function remove_waiter(waiter)
  each(function() pcall(remove_from_one, waiter) end)
  free()
end
