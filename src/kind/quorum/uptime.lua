-- Shared: for how many ms yet this server has no say, of `ms` for which it must have been up. One that came back without its locks
-- would give one away that others of its kind still know of. It counts whole seconds, and the first one may be short.
--
-- provides  missing_uptime
local function missing_uptime(ms)
  local up = string.match(tostring(redis.pcall('INFO', 'server')), 'uptime_in_seconds:(%d+)')
  return up and math.max(0, ms - (up - 1) * 1000) or 0
end
