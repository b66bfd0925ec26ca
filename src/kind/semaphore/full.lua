-- Shared: whether there is no permit for a caller with this number. A caller with a lower number
-- than others takes none from them. For one that waits for something else, in the queue of a name
-- that was a lock before, there is none. Another program's is always full.
--
-- provides  is_full suits
-- needs     HOLDERS HOLDS NOW_MS integer
local function is_full(permits)
  local first = redis.call('ZRANGE', HOLDERS, 0, 0)[1]
  if first and redis.call('HEXISTS', HOLDS, first) == 0 then return true end
  return redis.call('ZCOUNT', HOLDERS, integer(NOW_MS), '+inf') >= (tonumber(permits) or 0)
end
local function suits(want) return tonumber(want) end
