-- Shared: how the hold of a reader goes on, or the writer's, or how a writer goes on as a reader: then nobody else writes in between. A request that
-- comes late must not cut what a later one gave.
--
-- provides  extend
-- needs     FENCE FENCE_MS HOLDERS NAME NOW_MS prolong read
local function extend(ms, reads)
  -- First what a Redis that is full does not refuse.
  prolong(FENCE, FENCE_MS + ms)
  local till = redis.call('ZSCORE', HOLDERS, ARGV[2])
  local left = till and till - NOW_MS or redis.call('PTTL', NAME)
  if till or reads then read(ARGV[2], math.max(left, ms)) else prolong(NAME, ms) end
end
