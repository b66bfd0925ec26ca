-- Shared: how the hold of one of several goes on. A request that comes late must not cut what a later one gave.
--
-- provides  extend
-- needs     FENCE FENCE_MS HOLDERS NOW_MS prolong stay
local function extend(ms)
  -- First what a Redis that is full does not refuse.
  prolong(FENCE, FENCE_MS + ms)
  stay(ARGV[2], math.max(redis.call('ZSCORE', HOLDERS, ARGV[2]) - NOW_MS, ms))
end
