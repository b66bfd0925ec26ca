-- Shared: how the hold of a mutex goes on. Returns how long it lasts.
--
-- provides  extend
-- needs     NAME prolong prolong_record
local function extend(ms)
  local left = prolong(NAME, ms)
  prolong_record(ms)
  return left
end
