-- Shared: extends the hold of a reentrant lock. Another entry may need it for longer than this one.
--
-- provides  extend
-- needs     ENTRIES ENTRY FENCE FENCE_MS HOLD NAME NOW_MS acquired integer prolong
local function extend(ms)
  for _, key in ipairs({ NAME, HOLD, ENTRY }) do prolong(key, ms) end
  prolong(FENCE, FENCE_MS + ms)
  local left = redis.call('PTTL', ENTRY)
  redis.pcall('ZADD', ENTRIES, integer(NOW_MS + left), acquired() .. ' ' .. ENTRY)
  prolong(ENTRIES, math.max(left, redis.call('PTTL', NAME)))
end
