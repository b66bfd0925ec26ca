-- Shared: what a mutex was acquired for: its hold's fence, ttl and label, where that is known.
--
-- provides  acquired
-- needs     hold_of
local function acquired() return hold_of(ARGV[2]) end
