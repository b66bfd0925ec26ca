-- Says who has reservations, each for how long, the last fence, and how many units are free and
-- confirmed. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6 holds · 7 confirmed
-- ARGV  1 nonce · 2 how many units there are, and perhaps what one asks for
-- reply {1, nonce, RESP of: nil, 0, -2, the last fence and holds or nil, 0, 0: all as of a lock
--                  that is free;
--                  an array of each holder, ms left, label, and how many units it has; how many
--                  units are free; and how many are confirmed}
--
-- needs     confirmed hold_of known listed now_ms permits_in refuse_others resp till weight_of
refuse_others()
local holders, sold = listed(), confirmed()
local free = permits_in(ARGV[2]) - sold
for at, token in ipairs(holders) do
  holders[at] = { token, till[token] - now_ms(), select(4, hold_of(token)), weight_of(token) }
  free = free - holders[at][4]
end
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(known()) .. resp(0) .. resp(0) .. resp(holders) .. resp(math.max(0, free)) .. resp(sold) }
