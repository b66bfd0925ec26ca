-- Says who holds any of the names, and for how long; the highest fence that was issued; and how
-- many wait for the name that most wait for. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… as in look.lua
-- ARGV  1 nonce · 2 not used
-- reply {1, nonce, RESP of: nil, 0, -2, the last fence and holds or nil, waiters, 0: all as for a
--                  lock that nobody holds; then an array of each holder once, ms left, and label;
--                  and nil}
--
-- needs     HOLDER NAME each hold_of known resp waiting
local last, most, holders, seen = false, 0, {}, {}
each(function()
  -- Of another type it is an error.
  local holder = HOLDER or redis.call('GET', NAME)
  if holder and not seen[holder] then
    seen[holder] = true
    holders[#holders + 1] = { holder, redis.call('PTTL', NAME), select(4, hold_of(holder)) or '' }
  end
  -- Of as many digits each.
  local fence = known()
  if fence and (not last or fence > last) then last = fence end
  most = math.max(most, waiting())
end)
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(last) .. resp(most) .. resp(0) .. resp(holders) .. resp(false) }
