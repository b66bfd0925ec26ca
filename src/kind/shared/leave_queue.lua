-- Shared: the waiter of an acquisition that is given up leaves the queue.
--
-- needs     remove_waiter
remove_waiter(ARGV[3])
