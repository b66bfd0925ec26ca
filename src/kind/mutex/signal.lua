-- Shared: a lock that is free now, and that nobody was handed, is told to who blocks on a list, as python-redis-lock's waiters do.
--
-- needs     NAME wake
local SIGNAL = KEYS[7]
local function signal()
  redis.call('DEL', SIGNAL)
  redis.call('LPUSH', SIGNAL, '1')
  redis.call('PEXPIRE', SIGNAL, 1000)
end
local hand_on = wake
wake = function()
  hand_on()
  if redis.call('EXISTS', NAME) == 0 then pcall(signal) end
end
