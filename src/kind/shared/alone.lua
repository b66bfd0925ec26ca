-- Shared: a server that is alone always has a say.
--
-- provides  missing_uptime
local function missing_uptime() return 0 end
