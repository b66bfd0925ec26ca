-- Shared: Redis's time, which is asked for when it is first needed.
--
-- provides  integer now_ms now_us
local NOW_US
local function integer(number) return string.format('%.0f', number) end
local function now_us()
  if not NOW_US then
    local time = redis.call('TIME')
    NOW_US = time[1] * 1000000 + time[2]
  end
  return NOW_US
end
local function now_ms() return math.floor(now_us() / 1000) end
