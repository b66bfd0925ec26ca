-- Once: all who wait are told when the holder is done, well or not: they ask, and get what is kept, or one of them the lock.
--
-- KEYS  7 what is kept: its name is that of the channel too
--
-- provides  free wake wipe
-- needs     NAME
local function wake() redis.pcall('PUBLISH', KEYS[7], '0') end
local function wipe()
  redis.call('DEL', NAME)
  wake()
end
local free = wipe
