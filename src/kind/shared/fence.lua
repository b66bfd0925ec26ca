-- Shared: fences, which come from Redis's time. Each is higher than all before, even if Redis has
-- forgotten those.
--
-- provides  issue_fence next_fence
-- needs     LAST check_record integer keep now_us
local function next_fence()
  check_record()
  return integer(math.max((LAST or 0) + 1, now_us()))
end
local function issue_fence(token, ttl, label, till, others, ms)
  local fence = next_fence()
  keep(fence, token, fence, ttl, label, till, others, ms)
  return fence
end
