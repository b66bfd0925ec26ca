-- Shared: adds one of several holders. Before the first one, what is left of holders whose key was
-- deleted, or forced as that of another kind, is removed.
--
-- provides  grant
-- needs     HOLDERS HOLDS issue_fence stay
local function grant(token, ms, ttl, label)
  local fence = issue_fence(token, ttl, label)
  if redis.call('HLEN', HOLDS) > 0 and redis.call('EXISTS', HOLDERS) == 0 then redis.call('DEL', HOLDS) end
  redis.call('HSET', HOLDS, token, table.concat({ fence, ttl, label }, ' '))
  stay(token, ms)
  return fence
end
