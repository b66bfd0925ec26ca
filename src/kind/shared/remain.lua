-- Shared: extends the hold of one of several holders. A request that comes late must not shorten
-- what a later one gave.
--
-- provides  extend
-- needs     FENCE FENCE_MS HOLDERS NOW_MS prolong stay
local function extend(ms)
  -- Begins with what a full Redis does not refuse.
  prolong(FENCE, FENCE_MS + ms)
  stay(ARGV[2], math.max(redis.call('ZSCORE', HOLDERS, ARGV[2]) - NOW_MS, ms))
end
