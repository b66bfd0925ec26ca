-- Shared: whoever cannot have the lock yet is told why, and joins the queue; whoever can leaves it.
-- Ends what if_contended.lua began.
--
-- ends      the branch
-- needs     HOLDER NAME WAITER head hold_of liveness_left mine refuse remove_waiter
if HOLDER and not mine then return refuse(redis.call('PTTL', NAME), select(4, hold_of(HOLDER))) end
local first = not mine and string.find(ARGV[6], 'f') and head()
if first and first ~= WAITER then return refuse(liveness_left(first)) end
remove_waiter(WAITER)
end
