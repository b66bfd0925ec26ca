-- Shared: where one name is not this token's any more, none is: what is left of the others is given
-- back.
--
-- provides  lost
-- needs     release_one
local say_lost = lost
local function lost()
  pcall(release_one)
  return say_lost()
end
