-- Shared: how all names are freed that this token has, and who waits for one that is free now is
-- handed it.
--
-- provides  notify release_one
-- needs     NAME each
local notify_one = notify
local function notify()
  each(function()
    if redis.pcall('GET', NAME) == ARGV[2] then redis.call('DEL', NAME) end
    if redis.call('EXISTS', NAME) == 0 then notify_one() end
  end)
end
local release_one = notify
