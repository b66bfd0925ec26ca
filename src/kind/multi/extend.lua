-- Shared: how the hold of all names goes on.
--
-- provides  extend
-- needs     each
local extend_one = extend
local function extend(ms)
  each(function() extend_one(ms) end)
end
