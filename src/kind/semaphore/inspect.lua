-- Says who holds permits, each for how long, the last fence, how many wait, and how many permits
-- are free. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue
-- ARGV  1 nonce · 2 how many permits there are, and perhaps what one asks for
-- reply {1, nonce, RESP of: nil, 0, -2, the last fence and holds or nil, waiters, 0: all as of a
--                  lock that is free;
--                  an array of each holder, ms left, label, and how many permits it has; and how
--                  many permits are free}
--
-- needs     hold_of known listed now_ms permits_in refuse_others resp till waiting weight_of
refuse_others()
local holders, free = listed(), permits_in(ARGV[2])
for at, token in ipairs(holders) do
  holders[at] = { token, till[token] - now_ms(), select(4, hold_of(token)), weight_of(token) }
  free = free - holders[at][4]
end
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(known()) .. resp(waiting()) .. resp(0) .. resp(holders) .. resp(math.max(0, free)) }
