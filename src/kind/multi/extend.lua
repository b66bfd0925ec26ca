-- Shared: how the hold of all names goes on.
--
-- provides  extend
-- wraps     extend
-- needs     each
local extend_one = extend
local function extend(ms)
  local left = 0
  each(function() left = math.max(left, extend_one(ms)) end)
  return left
end
