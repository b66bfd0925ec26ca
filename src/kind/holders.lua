-- Several holders at once: who they are, and how a place that is free is handed on.
--
-- kind  holders

--- holders
-- Holders of which there may be many at once. HOLDERS is a sorted set: each token by until when it
-- is a holder, in Redis's ms. What else is known of a hold has the record, if it is one of the
-- latest, or MORE, a hash: token → '<fence> <ttl> <label>'. So a script reads and writes few of
-- them, however many there are.
--
-- A holder may count as several, its weight: then the record has that in place of until when it
-- lasts, and MORE has it behind the label. The first hold in the record is then '+ <extra> 0 0 ;':
-- by how much all weights together exceed the number of holders. So nobody adds them up. It counts
-- those that have ended until they are removed, and means nothing if HOLDERS is gone.
--
-- till: until when they hold it. Has all of them; or, if they are many, those that end first, and
-- the caller. ended: who held it, and was not removed yet. Of many, those that ended first.
--
-- provides  add earliest ended extra from_last go_on hold_of holders_err is_many last_end listed
-- provides  remove till weight_in weight_of
-- wraps     hold_of
-- needs     HOLDERS HOLDS IS_SHARED MORE integer issue_fence now_ms
local MOST = 16
local till, ended = {}, {}
local found = IS_SHARED and redis.pcall('ZRANGE', HOLDERS, 0, MOST, 'WITHSCORES') or {}
local holders_err, earliest, is_many = found.err, found[1], #found > 2 * MOST
local function note(token, ends)
  if ends >= now_ms() then till[token] = ends else ended[#ended + 1] = token end
end
for at = 1, #found, 2 do note(found[at], tonumber(found[at + 1])) end
local in_record = hold_of
local extra = earliest and tonumber((in_record('+'))) or 0
if is_many then
  -- More may have ended, which others count. A thousand cost a script some milliseconds.
  if #ended > MOST then ended = redis.call('ZRANGE', HOLDERS, 0, math.min(1000, redis.call('ZCOUNT', HOLDERS, '-inf', '(' .. integer(now_ms()))) - 1) end
  local mine = redis.call('ZSCORE', HOLDERS, ARGV[2] or '')
  if mine and tonumber(mine) >= now_ms() then till[ARGV[2]] = tonumber(mine) end
end
local function hold_of(token)
  local fence, ttl, ends, label = in_record(token)
  if fence or not earliest then return fence, ttl, ends, label end
  fence, ttl, label, ends = string.match(redis.call('HGET', MORE, token) or '', '^(%d+) (%d+) (%S*) ?(%d*)$')
  return fence, ttl, ends, label
end
local function weight_of(token) return extra > 0 and math.max(1, tonumber((select(3, hold_of(token)))) or 0) or 1 end
-- How much is wanted, of '<permits>/<weight>'.
local function weight_in(want) return tonumber(string.match(want or '', '%d/(%d+)')) or 1 end
-- The holds in the record without those that are over. What has ended was removed before
-- (`clean`), or is not in `till`. Of one that has ended, and is yet to be removed, the hold stays
-- if asked for: whose holds are not known are another program's.
local function beside(over, keeps_ended)
  return (string.gsub(HOLDS, '(%S+) [^;]*;', function(whose) return (whose == '+' or over == whose or not (is_many or keeps_ended or till[whose])) and '' or nil end))
end
local function with_extra(holds) return extra > 0 and table.concat({ '+ ', extra, ' 0 0 ;', holds }) or holds end
-- Who holds it, in the order in which they end.
local function listed()
  if is_many then
    till = {}
    local all = redis.call('ZRANGEBYSCORE', HOLDERS, integer(now_ms()), '+inf', 'WITHSCORES')
    for at = 1, #all, 2 do till[all[at]] = tonumber(all[at + 1]) end
  end
  local tokens = {}
  for token in pairs(till) do tokens[#tokens + 1] = token end
  table.sort(tokens, function(one, other) return till[one] < till[other] or till[one] == till[other] and one < other end)
  return tokens
end
-- The holder that ends last, or the one that is at this place from the last; and until when.
local function from_last(place)
  if is_many then return unpack(redis.call('ZRANGE', HOLDERS, -place, -place, 'WITHSCORES')) end
  local tokens = listed()
  local token = tokens[#tokens - place + 1]
  return token, till[token or '']
end
-- In how many ms the one ends that lasts longest; 0 if there is none.
local function last_end()
  local _, last = from_last(1)
  for _, ends in pairs(till) do last = math.max(last or 0, ends) end
  return integer(math.max(0, (last or 0) - now_ms()))
end
-- What is known of holders lasts as long as these, since a later script asks who they were.
local function keep_all(life)
  local has_more = is_many
  for token in pairs(till) do has_more = has_more or not in_record(token) end
  redis.call('PEXPIRE', HOLDERS, life)
  if has_more then redis.call('PEXPIRE', MORE, life) end
end
-- A request that comes late must not shorten what a later one gave. Begins with what a full Redis
-- does not refuse. Returns how long it lasts.
local function go_on(token, ms)
  till[token] = math.max(till[token] or 0, now_ms() + ms)
  keep_all(last_end())
  redis.call('ZADD', HOLDERS, integer(till[token]), token)
  return till[token] - now_ms()
end
-- The oldest hold in the record makes room for a new one.
local function add(token, ms, ttl, label, want)
  local others, weight = beside(token), weight_in(want)
  if select(2, string.gsub(others, ';', '')) >= MOST then
    local whose, fence, its_ttl, its_weight, its_label, rest = string.match(others, '^(%S+) (%d+) (%d+) (%d+) ([^;]*);(.*)$')
    redis.call('HSET', MORE, whose, table.concat({ fence, its_ttl, its_label, its_weight ~= '0' and its_weight or nil }, ' '))
    others = rest
  end
  extra = extra + weight - 1
  till[token], IS_SHARED, earliest = now_ms() + ms, true, earliest or token
  local life = last_end()
  local fence = issue_fence(token, ttl, label, weight > 1 and weight or 0, with_extra(others), life)
  redis.call('ZADD', HOLDERS, integer(till[token]), token)
  keep_all(life)
  return fence
end
-- Returns 1, or 0 if it was no holder any more.
local function remove(token)
  local weight, was_there = weight_of(token), redis.call('ZREM', HOLDERS, token)
  if was_there == 0 then weight = 1 end
  if not in_record(token) then redis.call('HDEL', MORE, token) end
  extra = extra - weight + 1
  if is_many or weight > 1 then HOLDS = with_extra(beside(token, true)) end
  till[token] = nil
  return was_there
end

--- shown
-- A holder, as an inspection tells it; with its weight, where holders have one. Redis may have
-- forgotten its label, as by eviction.
--
-- provides  shown
-- needs     hold_of now_ms till
local function shown(token, weight)
  return { token, till[token] - now_ms(), select(4, hold_of(token)) or '', weight }
end

--- clean
-- Removes holders that have ended, as Redis does with keys. If its clock is set back later, one
-- must not come back that was told that its place is lost, or that gave it up. Who is not known is
-- another program's, and stays.
--
-- needs     ended hold_of remove save
for _, token in ipairs(ended) do
  if hold_of(token) then remove(token) end
end
if ended[1] then save() end

--- had
-- What follows when one of several places was taken. If there is another place, the next waiter is
-- told to ask: it may have begun to listen after that place was freed.
--
-- provides  had
-- needs     WAITERS head is_full run
local function had(fence)
  local want, channel = string.match(WAITERS ~= '' and head() or '', '^v1 %S+ %d+ %l(%S*) %d+ %S* (.+)$')
  if want and not is_full(want) then redis.pcall('PUBLISH', channel, '0') end
  return { 1, ARGV[1], fence, run(10) }
end

--- hand_on
-- Gives the places that are free now to the first waiters that are alive and hear of it, or that
-- were overtaken for too long (`hearing`). Behind a waiter for whom there is no room, nobody gets
-- one; nor behind a fair one that does not hear of it, unless that is to read: readers are fair to
-- writers alone.
--
-- A waiter that wants something else is handed nothing: one for several names or limits at once
-- (`a`) must have all of them, one for a permit waits at a name that was a semaphore before. The
-- first fair one of these and the first that barges are told to ask, if there is room for it. But
-- from the second time on those that barge go ahead of them, unless they insist. One for several
-- limits that would not answer is passed over. A waiter of another version asks unasked.
--
-- A place is stored before it is told: if that fails, nobody may hear of it.
--
-- provides  hand_over
-- needs     gather grant in_order insists integer is_full is_told_first line_of listens
-- needs     liveness_left may_be_overtaken now_ms now_us number_at remove_waiter suits
-- A waiter, in the form of `record`. Its fairness, and what it wants, are one word.
local function parts(waiter) return string.match(waiter, '^v1 (%S+) (%d+) (%l)(%S*) (%d+) (%S*) (.*)$') end
-- Whether a waiter for several limits hears that there is room, and asks within a second.
local ANSWERS_MS = 1000
local function answers(waiter, channel)
  local at = line_of(waiter)
  local told = at and number_at(at + 14) or 0
  return channel ~= '' and listens(channel) and not (told > 0 and now_ms() - told > ANSWERS_MS)
end
-- A waiter that listens at another node is told too. If the place is kept for less than its grant,
-- it must ask.
local function give(waiter, most)
  local token, ms, _, want, ttl, label, channel = parts(waiter)
  remove_waiter(waiter)
  local fence = grant(token, math.min(ms, most), ttl, label, want)
  local told = tonumber(ms) <= most and fence .. ' ' .. integer(now_us()) or '1'
  if channel ~= '' then redis.pcall('PUBLISH', channel, told) end
end
-- Gives one place, and returns whether there may be another.
local function hand_one()
  gather()
  local first, asks
  for came, waiter in in_order() do
    local token, _, fair, want, _, _, channel = parts(waiter)
    if not token then break end
    if not suits(want) then
      local has_room = not is_full(want)
      if want == 'a' or has_room and answers(waiter, channel) then
        asks = asks or {}
        if has_room and not asks[fair] then
          if is_told_first(waiter) or insists(came) then
            asks = { channel }
            break
          end
          asks[fair] = channel ~= '' and channel or nil
        end
      end
    elseif is_full(want) then
      break
    elseif fair == 'b' or not asks then
      first = first or waiter
      if channel ~= '' and listens(channel) then
        if first == waiter or may_be_overtaken(first) then give(waiter, math.huge) else give(first, liveness_left(first)) end
        return true
      elseif fair == 'f' and want ~= 'r' then
        return
      end
    end
  end
  for _, channel in pairs(asks or {}) do redis.pcall('PUBLISH', channel, '0') end
end
local function hand_over()
  local given = 0
  while given < 100 and hand_one() do given = given + 1 end
end
