-- Shared: adds a reader, or the writer.
--
-- provides  grant
-- needs     NAME issue_fence read
local function grant(token, ms, ttl, label, want)
  local fence = issue_fence(token, ttl, label)
  if want == 'r' then read(token, ms) else redis.call('SET', NAME, token, 'PX', ms) end
  return fence
end
