-- Shared: the waiter of an acquisition that is given up leaves the queue.
--
-- needs     remove_waiter
-- Damage to the queue must not keep the lock from being freed.
pcall(remove_waiter, ARGV[3])
