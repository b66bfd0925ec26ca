-- Shared: what is known of the hold that `token` has, if anything is: its fence, and the ttl in ms that it was acquired for.
local function hold_of(token)
  local whose, fence, ttl = string.match(redis.call('GET', FENCE) or '', '^%d+ (%S+) (%d+) (%d+)')
  if whose == token then return fence, ttl end
end
