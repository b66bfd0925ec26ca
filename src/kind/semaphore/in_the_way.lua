-- Shared: for how many ms a caller with this number finds no permit, and the label of the holder
-- whose permit ends then.
--
-- provides  in_the_way
-- needs     from_last hold_of now_ms
local function in_the_way(permits)
  local token, ends = from_last(permits)
  return ends - now_ms(), select(4, hold_of(token))
end
