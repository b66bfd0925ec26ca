-- Shared: how many more ms this server has no say, if it must have been up for `ms`. A server that
-- came back without its locks would grant one that others still know of. Uptime counts whole
-- seconds, and the first one may be short.
--
-- provides  missing_uptime
local function missing_uptime(ms)
  local up = string.match(tostring(redis.pcall('INFO', 'server')), 'uptime_in_seconds:(%d+)')
  return up and math.max(0, ms - (up - 1) * 1000) or 0
end
