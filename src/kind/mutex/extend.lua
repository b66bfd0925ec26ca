-- Shared: how the hold of a mutex goes on.
--
-- provides  extend
-- needs     FENCE FENCE_MS NAME prolong
local function extend(ms)
  prolong(NAME, ms)
  prolong(FENCE, FENCE_MS + ms)
end
