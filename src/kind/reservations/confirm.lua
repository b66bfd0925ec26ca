-- Shared: a commit confirms the reservation: its units are taken for ever. A release, which is the
-- last write that a lease can send, gives them back.
--
-- For a day the mark of a token that has ended says that it was confirmed, so that a second commit
-- of it is told apart from one that is too late (lost.lua).
--
-- provides  free
-- wraps     free
-- needs     CONFIRMED GONE NUMBER acquired confirmed is_another is_held weight_of
local LAST_NUMBER, DAY_MS = 9007199254740991, 86400000
local give_back = free
local function free()
  local units = is_held() and NUMBER < LAST_NUMBER and not is_another(acquired()) and weight_of(ARGV[2])
  -- What is stored instead of a number is told before anything changes.
  if units then confirmed() end
  give_back()
  if units then
    redis.call('INCRBY', CONFIRMED, units)
    redis.call('SET', GONE, 'confirmed', 'PX', DAY_MS)
  end
end
