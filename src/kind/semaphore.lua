-- A semaphore has as many holders at once as it has permits. A permit is a lease like that of a
-- lock. All that docs/protocol.md says of tokens, deadlines, receipts, commands, waiting and
-- unknown outcomes holds for each. The differences:
-- - A permit ends by Redis's clock, as a key does, although it is no key. A permit that has ended
--   is not counted any more. The next script that changes anything deletes it. Otherwise, if
--   Redis's clock were set back later, it would hold again after its holder was told that it was
--   lost. A renewal never shortens a permit. The keys last as long as the permit that lasts
--   longest.
-- - The acquirer says how many permits there are. The number counts for that acquisition alone,
--   also while it waits, and is stored nowhere. So it can change from one deployment to the next.
--   An acquirer with a smaller number takes no permit away. It waits until fewer than that are
--   held. While such a waiter is the first in the queue, the waiters behind it are handed nothing.
--   Those that barge take a permit when they ask: at least every third of their liveness, and when
--   the permits in their way end. Those that are fair wait until it has had its turn.
-- - An acquirer may want several permits, its weight: '<permits>/<weight>'. It gets all or none, as
--   one lease with one token and one fence. While too few are free for it, it waits as one with a
--   smaller number does. Holders that an older version stored count as one permit.
-- - A release hands its permit to the first waiter by the rules of `hearing`. It goes on while
--   permits are free, since others may have run out. An acquirer that finds another permit free
--   tells the first in the queue to ask (`0`). That waiter may have begun to listen after the
--   permit was freed.
-- - A lock of another kind may be taken and released at the name while somebody waits for a permit.
--   Its release hands that waiter nothing, and leaves the name free. It tells the waiter to ask
--   (`0`).
-- - A fence is higher than all before, of any permit. It tells a permit from every other, and
--   orders permits by when they were granted. But all those held at once may write.
-- - A forced release frees all permits at once.
-- - Turns that callers share are refused, since others would decide at the same time.
--
-- A semaphore is not stored as other libraries' semaphores are, so it shares nothing with them. A
-- lock of the same name has another type, so each refuses the other (`wrong_type`).
-- redis-semaphore's semaphores have the same type, but say since when a permit is held. An acquirer
-- tells them apart by a member that is no holder of ours, refuses them, and leaves them alone
-- (docs/switching.md). No majority of several servers could agree on who has which permit, so a
-- quorum refuses semaphores.
--
-- kind  semaphore, made of holders
--
-- `storage` looks for strangers among those that ended, so it comes before `clean`.
--
-- script acquire: version life storage clean acquire
-- script renew: version storage clean renew
-- script release: version storage clean release if_waited_for pass_on reply
-- script abandon: storage clean abandon if_waited_for leave_queue pass_on reply
-- script inspect: version storage inspect
-- script force_release: storage clean force_release if_waited_for pass_on reply

--- keys
-- Permits are a sorted set under the name itself.
--
-- provides  HOLDERS IS_SHARED MORE
-- needs     NAME
local HOLDERS, MORE, IS_SHARED = NAME, KEYS[6], true

--- storage
-- Permits. What is not known here is another program's: redis-semaphore's is a sorted set too, of
-- since when each permit is held, so theirs come first. That is never free, and stays. So does what
-- is held while the record is gone, as by eviction: it had the weights.
--
-- provides  is_full is_held permits_in refuse_others suits
-- needs     HOLDERS IS_OURS NAME earliest ended extra hold_of holders_err integer is_many now_ms
-- needs     till weight_in
local is_theirs = holders_err or earliest and not (IS_OURS and hold_of(earliest))
-- Theirs may stand behind permits of ours that ended before theirs began.
for _, token in ipairs(ended) do is_theirs = is_theirs or not hold_of(token) end
local function is_held() return till[ARGV[2]] end
-- A caller with a lower number than others takes none from them. For one that waits for something
-- else, in the queue of a name that was a lock before, there is no permit.
local function permits_in(want) return tonumber(string.match(want, '%d+')) end
local function suits(want) return string.find(want, '^%d') end
local function is_full(want)
  local free = (permits_in(want) or 0) + 1 - weight_in(want) - extra
  if is_many then
    free = free - redis.call('ZCOUNT', HOLDERS, integer(now_ms()), '+inf')
  else
    for _ in pairs(till) do free = free - 1 end
  end
  return is_theirs or free <= 0
end
local function refuse_others()
  -- Of a sorted set, as theirs is, reading it as a string is the error WRONGTYPE.
  if is_theirs then redis.call(holders_err and 'ZCARD' or 'GET', NAME) end
end

--- permit
-- How a permit is taken and given back.
--
-- provides  delete free grant
-- needs     MORE NAME add extra is_many remove till
local grant = add
local function free() remove(ARGV[2]) end
local function delete()
  redis.call('DEL', NAME, MORE)
  till, is_many, extra = {}, false, 0
end

--- acquire
-- Takes one of several places, or says how long none is free, and joins the queue.
--
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive ·
--       5 waiter, empty not to wait · 6 f to wait for its turn, b to barge; behind that r to get
--       the results in any case · 7 label · 8 what it wants, as the kind stores it ·
--       9 as in `life` · 10… reads
-- reply {1, nonce, fence, results}    held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results}  nothing is free for that long (-1: without
--                                     end), or free for the first waiter; how many wait ahead;
--                                     Redis's time in microseconds; the label of the holder that
--                                     ends next; results only if asked for
--       {-1, nonce}                   this token was abandoned, or has already ended: a straggler
--
-- Asking again with the same token is harmless: it gets the same fence, the full ttl and the same
-- place. If it paused for so long that it counted as dead, it gets the last place.
--
-- needs     DONE KEPT_MS WAITER WENT acquired besides_kept extend grant had head in_the_way is_full
-- needs     is_held liveness_left refuse refuse_others remove_waiter save
local fence = is_held() and acquired()
if not fence then
  if WENT or DONE then return { -1, ARGV[1] } end
  refuse_others()
  if is_full(ARGV[8]) then return refuse(in_the_way(ARGV[8])) end
  local besides = besides_kept(ARGV[8])
  if besides and is_full(besides) then return refuse(KEPT_MS) end
  local first = string.find(ARGV[6], 'f') and head()
  if first and first ~= WAITER then return refuse(liveness_left(first)) end
end
remove_waiter(WAITER)
if fence then
  extend(ARGV[3])
  save()
else
  fence = grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], ARGV[8])
end
return had(fence)

--- besides
-- Room that is kept for waiters for several limits. Who holds such a permit could else take it
-- again right behind each release, since a waiter is not handed it, and must ask. So a waiter that
-- came 2 s ago finds what it was told of, if it asks within a second. To others so much more is
-- taken. Says what one wants then, if any is kept.
--
-- provides  KEPT_MS besides_kept
-- needs     WAITER WAITERS now_ms permits_in weight_in
local KEPT_MS = 1000
local function besides_kept(want)
  local kept = 0
  for told, came, waiter in string.gmatch(WAITERS, '%d+ (%d+) (%d+) ([^,]*),') do
    local its = string.match(waiter, '^v1 %S+ %d+ %la(%d%S*)')
    local ago = its and waiter ~= WAITER and now_ms() - told
    if ago and ago >= 0 and ago < KEPT_MS and now_ms() - came > 2000 then kept = kept + weight_in(its) end
  end
  if kept > 0 then return permits_in(want) .. '/' .. weight_in(want) + kept end
end

--- in_the_way
-- For how many ms a caller finds too few permits, and the label of the holder whose permit ends
-- then. If there are many holders with weights, it may ask too early: it looks at the first.
--
-- provides  in_the_way
-- needs     HOLDERS extra from_last hold_of integer is_many listed now_ms permits_in till weight_in
-- needs     weight_of
local function in_the_way(want)
  local place = permits_in(want) - weight_in(want) + 1
  local token, ends = from_last(place)
  if extra > 0 then
    local tokens = is_many and redis.call('ZRANGE', HOLDERS, 0, 15) or listed()
    local too_many = extra - place + (is_many and redis.call('ZCOUNT', HOLDERS, integer(now_ms()), '+inf') or #tokens)
    for _, one in ipairs(tokens) do
      token, too_many = one, too_many - weight_of(one)
      if too_many < 0 then break end
    end
    ends = till[token] or tonumber(redis.call('ZSCORE', HOLDERS, token))
  end
  return math.max(0, ends - now_ms()), select(4, hold_of(token))
end

--- extend
-- How a permit goes on.
--
-- provides  extend
-- needs     go_on prolong_record
local function extend(ms)
  local left = go_on(ARGV[2], ms)
  prolong_record(ms)
  return left
end

--- inspect
-- Says who holds permits, each for how long, the last fence, how many wait, and how many permits
-- are free. Changes nothing.
--
-- ARGV  1 nonce · 2 how many permits there are, and perhaps what one asks for
-- reply {1, nonce, RESP of: nil, 0, -2, the last fence and holds or nil, waiters, 0: all as of a
--                  lock that is free;
--                  an array of each holder, ms left, label, and how many permits it has; and how
--                  many permits are free}
--
-- needs     known listed permits_in refuse_others resp shown waiting weight_of
refuse_others()
local holders, free = listed(), permits_in(ARGV[2])
for at, token in ipairs(holders) do
  holders[at] = shown(token, weight_of(token))
  free = free - holders[at][4]
end
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(known()) .. resp(waiting()) .. resp(0) .. resp(holders) .. resp(math.max(0, free)) }
