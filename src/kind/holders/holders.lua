-- Shared: holders of which there may be many at once. HOLDERS is a sorted set: each token by until
-- when it is a holder, in Redis's ms. What else is known of a hold has the record, if it is one of
-- the latest, or MORE, a hash: token → '<fence> <ttl> <label>'. So a script reads and writes few
-- of them, however many there are.
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
-- (clean.lua), or is not in `till`. Of one that has ended, and is yet to be removed, the hold stays
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
