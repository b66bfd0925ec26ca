-- Shared: whether there is no permit for who counts so many. Who counts fewer than others takes none from them.
--
-- provides  is_full
-- needs     HOLDERS NOW_MS whole
local function is_full(permits) return redis.call('ZCOUNT', HOLDERS, whole(NOW_MS), '+inf') >= tonumber(permits) end
