-- Shared: adds a reader, or the writer. What is known of an earlier hold of the same token can have
-- come back with Redis's clock, and does not count. A writer forgets too: if that fails, so would
-- its release.
--
-- provides  grant
-- needs     NAME forget issue_fence read
local function grant(token, ms, ttl, label, want)
  local fence = issue_fence(token, ttl, label)
  forget(token)
  if want == 'r' then read(token, ms) else redis.call('SET', NAME, token, 'PX', ms) end
  return fence
end
