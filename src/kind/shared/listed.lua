-- Shared: those of several holders that have not ended: token, ms left, and label of each.
--
-- provides  listed
-- needs     HOLDERS NOW_MS hold_of integer
local function listed()
  local found, holders = redis.call('ZRANGEBYSCORE', HOLDERS, integer(NOW_MS), '+inf', 'WITHSCORES'), {}
  for at = 1, #found, 2 do
    local _, _, label = hold_of(found[at])
    holders[#holders + 1] = { found[at], found[at + 1] - NOW_MS, label or '' }
  end
  return holders
end
