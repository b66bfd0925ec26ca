-- Shared: what is known of the hold that `token` has, if anything is: its fence, the ttl in ms that it was acquired for,
-- and its label.
--
-- provides  hold_of
-- needs     FENCE
local function hold_of(token)
  local whose, fence, ttl, label = string.match(redis.call('GET', FENCE) or '', '^%d+ (%S+) (%d+) (%d+) ?(%S*)')
  if whose == token then return fence, ttl, label end
end
