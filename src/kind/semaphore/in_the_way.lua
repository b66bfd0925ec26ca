-- Shared: for how many ms a caller with this number finds no permit, and the label of the holder
-- whose permit ends then.
--
-- provides  in_the_way
-- needs     HOLDERS NOW_MS hold_of
local function in_the_way(permits)
  local at = redis.call('ZCARD', HOLDERS) - permits
  local next = redis.call('ZRANGE', HOLDERS, at, at, 'WITHSCORES')
  local _, _, label = hold_of(next[1])
  return next[2] - NOW_MS, label
end
