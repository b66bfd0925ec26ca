-- Shared: whoever gives up leaves the queue that it stands in, and gives back what it has of them.
--
-- needs     each free waiter_at
free()
each(function(at, _, _, _, _, _, leave_queue) pcall(leave_queue, waiter_at(ARGV[3], at)) end)
