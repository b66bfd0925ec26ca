-- Shared: gives one of several holders its place for `ms` from now.
--
-- provides  stay
-- needs     HOLDERS HOLDS NOW_MS integer prolong
local function stay(token, ms)
  redis.call('ZADD', HOLDERS, integer(NOW_MS + ms), token)
  prolong(HOLDERS, ms)
  prolong(HOLDS, ms)
end
