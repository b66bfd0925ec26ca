-- Shared: a lock that one writer has, or that readers share. The writer is stored as the holder of
-- a mutex. While readers have it, the name says 'readers', which is nobody's token. So everybody
-- who locks that name the common way finds it held.
--
-- Who the readers are is stored beside it. HOLDERS is a sorted set, token → until when it reads, in
-- Redis's ms. HOLDS is a hash, token → what FENCE was when it came. They count only while the name
-- says 'readers': freeing the name ends all readers.
--
-- provides  HOLDERS HOLDS forget hold hold_of says
-- needs     FENCE NAME
local HOLDERS, HOLDS = KEYS[7], KEYS[8]
local function says(text) return redis.pcall('GET', NAME) == text end
local function hold(token) return redis.call('HGET', HOLDS, token) or redis.call('GET', FENCE) or '' end
local function hold_of(token)
  local whose, fence, ttl, label = string.match(hold(token), '^%d+ (%S+) (%d+) (%d+) ?(%S*)')
  if whose == token then return fence, ttl, label end
end
local function forget(token)
  redis.call('ZREM', HOLDERS, token)
  redis.call('HDEL', HOLDS, token)
end
