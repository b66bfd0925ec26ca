-- Shared: whoever gives up leaves the queue that it stands in, and gives back what it has of them.
--
-- needs     each free remove_waiter waiter_at
free()
each(function(at, _, _, _, _, _, remove_waiter) pcall(remove_waiter, waiter_at(ARGV[3], at)) end)
