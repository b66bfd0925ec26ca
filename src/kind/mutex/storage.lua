-- Shared: a lock as a string that holds its holder's token.
--
-- provides  holder_and_count is_held
-- needs     NAME
local function is_held() return redis.pcall('GET', NAME) == ARGV[2] end
local function holder_and_count() return redis.call('GET', NAME), 1 end
