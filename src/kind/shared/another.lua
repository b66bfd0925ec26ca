-- Shared: whether this fence is that of another hold than the lease's. A lease that knows no fence
-- says 0.
--
-- An acquire that arrives when its own hold is over takes the lock once more, with the same token.
-- What was decided in the first hold must not run in the second, since others may have had the lock
-- in between.
--
-- provides  is_another
local function is_another(fence) return ARGV[5] ~= '0' and fence and fence ~= ARGV[5] end
