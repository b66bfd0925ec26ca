-- Units, each of which is free, reserved for a while, or confirmed for ever.
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
-- kind  reservations, made of semaphore, holders
--
-- script acquire: version life storage clean acquire
-- script renew: version storage forgotten clean renew
-- script release: version storage forgotten clean confirm release reply
-- script abandon: storage clean abandon reply
-- script inspect: version storage inspect
-- script force_release: clean force_release reply

--- keys
-- Of how many units it is known for ever that they are taken. This key has no expiry: a unit must
-- not be sold again because nobody asked for a week.
--
-- provides  CONFIRMED confirmed
local CONFIRMED = KEYS[7]
-- What is no such number is another program's: reading it as a sorted set is the error WRONGTYPE.
local function confirmed()
  local number = redis.call('GET', CONFIRMED) or '0'
  local is_ours = #number < 16 and not string.find(number, '%D') and not string.find(number, '^0.')
  return is_ours and tonumber(number) or redis.call('ZCARD', CONFIRMED)
end

--- owners
-- How many units each owner has reserved, which is the label of the reservation. MORE has it under
-- '@<label>', where no token is, and lasts as long as all reservations.
--
-- provides  count_for go_on held_by remove
-- wraps     go_on remove
-- needs     HOLDERS MORE earliest hold_of weight_of
-- What is known of a hold that has ended is asked for until it is removed. So it stays for as long
-- as the hold does, which nothing makes shorter.
local function keep_counts() redis.call('PEXPIRE', MORE, math.max(1, redis.call('PTTL', HOLDERS))) end
local function held_by(owner) return tonumber(earliest and redis.call('HGET', MORE, '@' .. owner) or 0) end
local function count_for(owner, units)
  if owner == '' then return end
  if redis.call('HINCRBY', MORE, '@' .. owner, units) <= 0 then redis.call('HDEL', MORE, '@' .. owner) end
  keep_counts()
end
local end_hold = remove
-- Damage to the counts must not keep a unit from its end: the unit is free by then.
local function remove(token)
  local owner, units = select(4, hold_of(token)), weight_of(token)
  if end_hold(token) == 1 and owner then pcall(count_for, owner, -units) end
end
local keep_up = go_on
local function go_on(token, ms)
  local left = keep_up(token, ms)
  keep_counts()
  return left
end

--- forgotten
-- A reservation of which Redis has forgotten how many units it has, as by eviction, is lost. It
-- would be confirmed as one unit.
--
-- provides  is_held
-- wraps     is_held
-- needs     IS_OURS hold_of
local is_there = is_held
local function is_held() return IS_OURS and is_there() and hold_of(ARGV[2]) end

--- acquire
-- Reserves so many units, or says why not.
--
-- KEYS  6 holds · 7 confirmed · 8… keys of the reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 6 with r to have the results if it is refused, too ·
--       7 label · 8 '<units>', '<units>/<wanted>' or '<units>/<wanted>/<most of this owner>' ·
--       4 and 5 not used · 9 as in `life` · 10… reads
-- reply {1, nonce, fence, results}     reserved for this token, with the full ttl
--       {0, nonce, ms, 0, 0, '', results}  too few are free for that long; results only if asked
--                                      for
--       {-1, nonce}                    this token was abandoned, or has already ended: a straggler
--       {-5, nonce, 'sold_out'}        too few are not confirmed
--       {-5, nonce, 'owner_limit'}     this owner would have too many
--
-- needs     DONE MORE WENT acquired confirmed count_for earliest ended extend grant held_by
-- needs     in_the_way integer is_full is_held permits_in refuse_others run save weight_in
local fence = is_held() and acquired()
if fence then
  extend(ARGV[3])
  save()
else
  if WENT or DONE then return { -1, ARGV[1] } end
  refuse_others()
  -- Counts of nobody are from before Redis's clock was set back. Another program's key is told.
  if not earliest and redis.call('HLEN', MORE) > 0 then redis.call('DEL', MORE) end
  local units, most = weight_in(ARGV[8]), tonumber(string.match(ARGV[8], '^%d+/%d+/(%d+)'))
  local left = permits_in(ARGV[8]) - confirmed()
  if left < units then return { -5, ARGV[1], 'sold_out' } end
  -- Of over a thousand that have ended, some count until the next script removes them.
  local has_most = most and held_by(ARGV[7]) + units > most
  if has_most and not ended[1000] then return { -5, ARGV[1], 'owner_limit' } end
  local want = integer(left) .. '/' .. units
  if has_most or is_full(want) then return { 0, ARGV[1], has_most and 0 or in_the_way(want), 0, 0, '', string.find(ARGV[6], 'r') and run(10) or nil } end
  fence = grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], want)
  count_for(ARGV[7], units)
end
return { 1, ARGV[1], fence, run(10) }

--- confirm
-- A commit confirms the reservation: its units are taken for ever. A release, which is the last
-- write that a lease can send, gives them back.
--
-- For a day the mark of a token that has ended says that it was confirmed, so that a second commit
-- of it is told apart from one that is too late (`lost`).
--
-- provides  free
-- wraps     free
-- needs     CONFIRMED GONE NUMBER acquired confirmed is_another is_held weight_of
local LAST_NUMBER, DAY_MS = 9007199254740991, 86400000
local give_back = free
local function free()
  local units = is_held() and NUMBER < LAST_NUMBER and not is_another(acquired()) and weight_of(ARGV[2])
  -- What is stored instead of a number is told before anything changes.
  if units then confirmed() end
  give_back()
  if units then
    redis.call('INCRBY', CONFIRMED, units)
    redis.call('SET', GONE, 'confirmed', 'PX', DAY_MS)
  end
end

--- lost
-- The reply if a reservation is over: whether it was confirmed before, or came to nothing.
--
-- reply {-5, nonce, 'confirmed'}
--
-- provides  lost
-- wraps     lost
-- needs     WENT
local too_late = lost
local function lost()
  if WENT == 'confirmed' then return { -5, ARGV[1], WENT } end
  return too_late()
end

--- inspect
-- Says who has reservations, each for how long, the last fence, and how many units are free and
-- confirmed. Changes nothing.
--
-- KEYS  6 holds · 7 confirmed
-- ARGV  1 nonce · 2 how many units there are, and perhaps what one asks for
-- reply {1, nonce, RESP of: nil, 0, -2, the last fence and holds or nil, 0, 0: all as of a lock
--                  that is free;
--                  an array of each holder, ms left, label, and how many units it has; how many
--                  units are free; and how many are confirmed}
--
-- needs     confirmed known listed permits_in refuse_others resp shown weight_of
refuse_others()
local holders, sold = listed(), confirmed()
local free = permits_in(ARGV[2]) - sold
for at, token in ipairs(holders) do
  holders[at] = shown(token, weight_of(token))
  free = free - holders[at][4]
end
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(known()) .. resp(0) .. resp(0) .. resp(holders) .. resp(math.max(0, free)) .. resp(sold) }
