-- Shared: gives on what is free, and ends what if_waited_for.lua began.
--
-- ends      the branch
-- needs     hand_over
-- Damage to the queue must not keep the lock from being freed.
pcall(hand_over)
end
