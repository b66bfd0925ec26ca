-- Shared: how many units each owner has reserved, which is the label of the reservation. MORE has
-- it under '@<label>', where no token is, and lasts as long as all reservations. What is there
-- while nobody has a reservation is from before Redis's clock was set back.
--
-- provides  count_for go_on held_by remove
-- wraps     go_on remove
-- needs     HOLDERS MORE earliest hold_of weight_of
-- What is known of a hold that has ended is asked for until it is removed. So it stays for as long
-- as the hold does, which nothing makes shorter.
local function keep_counts() redis.call('PEXPIRE', MORE, math.max(1, redis.call('PTTL', HOLDERS))) end
local is_first = not earliest
local function held_by(owner) return tonumber(not is_first and redis.call('HGET', MORE, '@' .. owner) or 0) end
local function count_for(owner, units)
  if is_first then redis.call('DEL', MORE) end
  if owner == '' then return end
  if redis.call('HINCRBY', MORE, '@' .. owner, units) <= 0 then redis.call('HDEL', MORE, '@' .. owner) end
  keep_counts()
end
local end_hold = remove
local function remove(token)
  local owner, units = select(4, hold_of(token)), weight_of(token)
  if end_hold(token) == 1 and owner then count_for(owner, -units) end
end
local keep_up = go_on
local function go_on(token, ms)
  local left = keep_up(token, ms)
  keep_counts()
  return left
end
