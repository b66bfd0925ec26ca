-- Shared: the fence and the ttl of this entry, if it is known.
--
-- provides  acquired
-- needs     ENTRY hold_of
local function acquired() return hold_of(ENTRY) end
