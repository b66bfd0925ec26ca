-- Shared: extends the hold of a reader or of the writer, or makes a reader of the writer, so that
-- nobody else writes in between. A request that comes late must not shorten what a later one gave.
--
-- provides  extend
-- needs     FENCE FENCE_MS HOLDERS NAME NOW_MS prolong read
local function extend(ms, reads)
  -- Begins with what a full Redis does not refuse.
  prolong(FENCE, FENCE_MS + ms)
  local till = redis.call('ZSCORE', HOLDERS, ARGV[2])
  local left = till and till - NOW_MS or redis.call('PTTL', NAME)
  if till or reads then read(ARGV[2], math.max(left, ms)) else prolong(NAME, ms) end
end
