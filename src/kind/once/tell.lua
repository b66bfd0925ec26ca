-- Once: tells all waiters when the holder is done, well or not. They ask, and get the result;
-- without a result, one of them gets the lock.
--
-- KEYS  7 the result; the channel has the same name
--
-- provides  free wake wipe
-- needs     NAME
local function wake() redis.pcall('PUBLISH', KEYS[7], '0') end
local function wipe()
  redis.call('DEL', NAME)
  wake()
end
local free = wipe
