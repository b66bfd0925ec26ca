-- Shared: how the hold of a mutex goes on.
local function extend(ms)
  prolong(NAME, ms)
  prolong(FENCE, FENCE_MS + ms)
end
