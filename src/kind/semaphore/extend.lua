-- Shared: how a permit goes on.
--
-- provides  extend
-- needs     go_on prolong_record
local function extend(ms)
  local left = go_on(ARGV[2], ms)
  prolong_record(ms)
  return left
end
