-- Shared: a lock as a string that holds its holder's token.
--
-- provides  delete free holder_and_count is_held
-- needs     HOLDER NAME
local function is_held() return HOLDER == ARGV[2] end
local function holder_and_count() return redis.call('GET', NAME), 1 end
local function free()
  redis.call('DEL', NAME)
  HOLDER = false
end
local delete = free
