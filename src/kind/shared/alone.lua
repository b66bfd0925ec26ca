-- Shared: a server that is alone always has a say.
local function missing_uptime() return 0 end
