-- Shared: a straggler is told so. Then begins what is done only if another holds the lock, or
-- somebody waits (as in if_waited_for.lua).
--
-- provides  mine
-- begins    a branch
-- needs     DONE HOLDER WAITERS WENT
local mine = HOLDER == ARGV[2]
if not mine and (WENT or DONE) then return { -1, ARGV[1] } end
if WAITERS ~= '' or HOLDER and not mine then
