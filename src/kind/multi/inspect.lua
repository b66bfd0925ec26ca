-- Says who holds any of the names, and for how long; the highest fence that was issued; and how
-- many wait for the name that most wait for. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · 7… as in names.lua
-- ARGV  1 nonce · 2 not used
-- reply {1, nonce, RESP of: nil, 0, -2, what FENCE is or nil, waiters, 0: all as for a lock that
--                    nobody holds; then an array of each holder once, ms left, and label; and nil}
--
-- needs     FENCE NAME QUEUE each hold_of resp
local last, waiters, holders, known = false, 0, {}, {}
each(function()
  local holder, fence = redis.call('GET', NAME), redis.call('GET', FENCE)
  if holder and not known[holder] then
    known[holder] = true
    holders[#holders + 1] = { holder, redis.call('PTTL', NAME), select(3, hold_of(holder)) or '' }
  end
  -- Of as many digits each.
  if fence and (not last or fence > last) then last = fence end
  waiters = math.max(waiters, redis.call('ZCARD', QUEUE))
end)
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(last) .. resp(waiters) .. resp(0) .. resp(holders) .. resp(false) }
