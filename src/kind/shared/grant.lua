-- Shared: adds one of several holders.
--
-- provides  grant
-- needs     HOLDS issue_fence stay
local function grant(token, ms, ttl, label)
  local fence = issue_fence(token, ttl, label)
  redis.call('HSET', HOLDS, token, table.concat({ fence, ttl, label }, ' '))
  stay(token, ms)
  return fence
end
