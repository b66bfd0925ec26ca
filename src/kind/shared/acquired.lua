-- Shared: the fence, ttl and label of a mutex's hold, if they are known.
--
-- provides  acquired
-- needs     hold_of
local function acquired() return hold_of(ARGV[2]) end
