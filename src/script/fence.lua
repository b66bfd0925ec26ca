-- Shared: Redis's time, and the fence that comes from it: higher than all before, also where Redis has forgotten those.
local FENCE_MS = 604800000
local TIME = redis.call('TIME')
local NOW_US = TIME[1] * 1000000 + TIME[2]
local NOW_MS = math.floor(NOW_US / 1000)
local function whole(number) return string.format('%.0f', number) end
local function issue_fence()
  local last = tonumber(redis.call('GET', FENCE) or 0) or 0
  local fence = whole(math.max(last + 1, NOW_US))
  redis.call('SET', FENCE, fence, 'PX', FENCE_MS)
  return fence
end
