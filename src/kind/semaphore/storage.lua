-- Shared: permits. What is not known here is another program's: redis-semaphore's is a sorted set
-- too, of since when each permit is held, so theirs come first. That is never free, and stays.
--
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
-- - A release hands its permit to the first waiter by the rules of hearing.lua. It goes on while
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
-- provides  is_full is_held permits_in refuse_others suits
-- needs     HOLDERS NAME earliest ended extra hold_of holders_err integer is_many now_ms till
-- needs     weight_in
local is_theirs = holders_err or earliest and not hold_of(earliest)
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
