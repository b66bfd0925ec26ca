-- Shared: what an inspection tells of the record: the last fence, and the holds. Of another
-- program's it tells nothing; of another type it is an error.
--
-- provides  known
-- needs     FENCE HOLDS KEPT LAST
local function known()
  if not KEPT then redis.call('GET', FENCE) end
  return LAST and LAST .. ' ' .. HOLDS
end
