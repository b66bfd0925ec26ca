-- Shared: how all names are freed that this token has, and who waits for one that is free now is handed it.
--
-- provides  free wake
-- needs     NAME each
local wake_one = wake
local function wake()
  each(function()
    if redis.pcall('GET', NAME) == ARGV[2] then redis.call('DEL', NAME) end
    if redis.call('EXISTS', NAME) == 0 then wake_one() end
  end)
end
local free = wake
