-- Shared: removes readers that have ended, and all of them if the name was freed or is a writer's.
-- A reader that was told that its place is lost must not find it again when others read. So every
-- reader that is left here reads.
--
-- provides  is_held
-- needs     HOLDERS NOW_MS forget integer says
local over = says('readers') and '(' .. integer(NOW_MS) or '+inf'
for _, token in ipairs(redis.pcall('ZRANGEBYSCORE', HOLDERS, '-inf', over)) do forget(token) end
local function is_held() return says(ARGV[2]) or redis.call('ZSCORE', HOLDERS, ARGV[2]) end
