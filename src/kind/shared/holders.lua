-- Shared: holders of which there may be several at once. HOLDERS is a sorted set: token → until
-- when it is one, in Redis's ms. HOLDS is a hash: token → '<fence> <ttl> <label>' of its hold. A
-- holder that has ended may stand in both until a script removes it.
--
-- provides  hold_of is_held
-- needs     HOLDERS HOLDS NOW_MS
local function hold_of(token) return string.match(redis.call('HGET', HOLDS, token) or '', '^(%d+) (%d+) (%S*)$') end
local function is_held() return (tonumber(redis.pcall('ZSCORE', HOLDERS, ARGV[2])) or 0) >= NOW_MS end
