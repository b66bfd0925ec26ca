-- Reserves so many units, or says why not.
--
-- Reservations are permits of a semaphore that come back by themselves, as all permits do, or are
-- taken for ever, by a commit. So free are all units but those that are reserved and those that are
-- confirmed. All that docs/protocol.md says of tokens, deadlines, receipts, commands and unknown
-- outcomes holds for each. The differences:
-- - Each caller says how many units there are, and how many its owner may have at once. The owner
--   is the reservation's label.
-- - A commit counts its units as confirmed, in the same script that runs its commands, if the
--   reservation is there and has not ended by Redis's clock. A repeat finds its receipt.
-- - Nobody queues: while all is reserved, whoever asks next may get what falls back first.
-- - A forced release gives all reservations back, and leaves what is confirmed.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6 holds · 7 confirmed · 8… keys of the
--       reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 6 with r to have the results if it is refused, too ·
--       7 label · 8 '<units>', '<units>/<wanted>' or '<units>/<wanted>/<most of this owner>' ·
--       4 and 5 not used · 9 as in life.lua · 10… reads
-- reply {1, nonce, fence, results}     reserved for this token, with the full ttl
--       {0, nonce, ms, 0, 0, '', results}  too few are free for that long; results only if asked
--                                      for
--       {-1, nonce}                    this token was abandoned, or has already ended: a straggler
--       {-5, nonce, 'sold_out'}        too few are not confirmed
--       {-5, nonce, 'owner_limit'}     this owner would have too many
--
-- needs     DONE WENT acquired confirmed count_for extend grant held_by in_the_way integer is_full
-- needs     is_held permits_in refuse_others run save weight_in
local fence = is_held() and acquired()
if fence then
  extend(ARGV[3])
  save()
else
  if WENT or DONE then return { -1, ARGV[1] } end
  refuse_others()
  local units, most = weight_in(ARGV[8]), tonumber(string.match(ARGV[8], '^%d+/%d+/(%d+)'))
  local left = permits_in(ARGV[8]) - confirmed()
  if left < units then return { -5, ARGV[1], 'sold_out' } end
  if most and held_by(ARGV[7]) + units > most then return { -5, ARGV[1], 'owner_limit' } end
  local want = integer(left) .. '/' .. units
  if is_full(want) then return { 0, ARGV[1], in_the_way(want), 0, 0, '', string.find(ARGV[6], 'r') and run(10) or nil } end
  fence = grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], want)
  count_for(ARGV[7], units)
end
return { 1, ARGV[1], fence, run(10) }
