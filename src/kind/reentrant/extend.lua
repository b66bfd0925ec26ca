-- Shared: how the hold of a reentrant lock goes on. Another entry may need it for longer than this one.
--
-- provides  extend
-- needs     ENTRY HOLD NAME prolong
local function extend(ms)
  for _, key in ipairs({ NAME, HOLD, ENTRY }) do prolong(key, ms) end
end
