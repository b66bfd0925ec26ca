-- A mutex that also feeds a list when it is free.
--
-- kind  signalling, made of mutex
--
-- script release: version release if_waited_for pass_on signal reply
-- script abandon: abandon if_waited_for leave_queue pass_on signal reply
-- script force_release: force_release if_waited_for pass_on signal reply

--- signal
-- Tells waiters that block on a list, such as python-redis-lock's, of a lock that is free and was
-- handed to nobody.
--
-- needs     NAME
local SIGNAL = KEYS[6]
local function signal()
  redis.call('DEL', SIGNAL)
  redis.call('LPUSH', SIGNAL, '1')
  redis.call('PEXPIRE', SIGNAL, 1000)
end
if redis.call('EXISTS', NAME) == 0 then pcall(signal) end
