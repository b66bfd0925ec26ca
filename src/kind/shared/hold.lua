-- Shared: the fence, the ttl in ms and the label of the hold that `token` has, if they are known.
--
-- provides  hold_of
-- needs     FENCE
local function hold_of(token)
  local whose, fence, ttl, label = string.match(redis.call('GET', FENCE) or '', '^%d+ (%S+) (%d+) (%d+) ?(%S*)')
  if whose == token then return fence, ttl, label end
end
