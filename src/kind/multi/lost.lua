-- Shared: where one name is not this token's any more, none is: what is left of the others is given
-- back.
--
-- provides  lost
-- wraps     lost
-- needs     free notify
local say_lost = lost
local function lost()
  pcall(free)
  pcall(notify)
  return say_lost()
end
