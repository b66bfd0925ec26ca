-- Several names at once, all or none.
--
-- `Client::lock_all(names)` takes up to 32 names. The lease has all of them, or there is no lease.
-- Each name is the mutex of that name. So plain locks of a name, ours and others', exclude it and
-- are excluded. All that docs/protocol.md says of tokens, deadlines, receipts, commands and unknown
-- outcomes holds. What differs:
-- - One script for all names: each name's key, fence and queue are in `KEYS`,
--   then `gone` once more, which marks the end. Receipt and `gone` are those of the first name. The
--   client sorts the names, so the order in which a caller gives them makes no difference to what a
--   token finds.
-- - Acquire looks at all names before it writes, and takes all or none. If one of them has another
--   type, it says so (`WRONGTYPE`), also if an earlier one is held. The fence is one higher than
--   the last of each name, or Redis's clock, and is kept for each. A refusal says which name is
--   held, in alphabetical order the first, and for how long (`0 nonce ms-left place Redis-µs label
--   results at`), and for how long a free one is kept for this waiter, if it is.
-- - Renew, exec, release and commit count only if every name has the token. If one has not, the
--   lease is lost: nothing runs, and the names that are left are freed and handed on. An acquire
--   that finds only some of the names its token's is a straggler (`-1 nonce`).
-- - A waiter never has part of its names. A release hands it nothing. It tells it to ask (`0`), and
--   leaves the name free; asking is again all or none. As nobody has some names and waits for
--   others, no order of names deadlocks.
-- - Callers that barge are not kept waiting by it. At each name a release tells it only once in its
--   turn. From then on a release hands the name to the next waiter that listens and barges, as
--   those of plain locks do by default. So these keep more than half of the turns that they have
--   alone.
-- - It insists at times, or busy names would never be free for it at the same moment. Its time in a
--   queue has rounds that double: they end after 0.2, 0.4, 0.8 s and so on. In the last quarter of
--   each round nobody is handed a name ahead of it. A name that is free is kept for it, though
--   callers that come then and barge may take it. At the end of the round it asks, and hands on
--   what it did not get. So it has its names once a quarter of a round is longer than the others
--   hold them. This costs the others an eighth of the time at most.
-- - One that is fair, as they are by default, stands in the queues of all its names, from its first
--   request on. As it joins them in one script, two that have names in common stand in the same
--   order in each of their queues: the earlier one goes first everywhere, so none waits for the
--   other in a circle, and none is overtaken by fair ones that came later. The price: fair waiters
--   that came later, and readers that are fair to writers, stand behind it for as long as it waits
--   for another name. That is its wait at most, and its liveness more if it dies. Callers that
--   barge may take the name meanwhile.
-- - One that was taken for dead in one queue alone, as when the clock was ahead while somebody
--   looked at that queue, joins all its queues anew when it asks. Otherwise it would stand behind
--   others in one queue and ahead of them in another, and they would wait for each other.
-- - One that barges stands in one queue, that of the name which it was refused for. When it is
--   refused for another, it moves there, as the last, and if the name that it leaves is free, the
--   next in that queue is handed it in the same script. It so costs others one round trip. Under a
--   steady load its names may never be free at the same time, and then it waits in vain: in the
--   simulation, among sets that cross, for as long as those went on. With `fair`, six that cross
--   took turns within 0.5 s (`tests/it/sim/exact/sets.rs`).
-- - Redis Cluster: all names need one hash tag. Redis refuses a script with keys of several slots
--   before it runs (`CROSSSLOT`). Shards: all names must live behind one bridge; the client knows,
--   and refuses others before it sends anything. A quorum refuses it: each server would have to
--   decide on all names.
-- - Inspect lists who holds any of the names. Force-release frees all names from all their holders.
--   A forced release of one name ends the whole lease.
-- - Turns that callers share, and a signal list, are refused.
--
-- Redis can lose one name of a lease and keep another where it evicts keys, or where somebody
-- deletes one. Then the lease is lost at its next call; until then the other names are held.
--
-- If Redis loses one of the queues, as by eviction, whoever stood in it joins all its queues anew,
-- and so loses its place.
--
-- kind  multi, made of mutex
--
-- script acquire: versions acquire
-- script renew: versions notify_all renew
-- script release: versions notify_all release reply
-- script abandon: notify_all leave abandon leave_queue reply
-- script inspect: versions inspect
-- script force_release: force_release

--- look
-- What the keys of several names have, as far as they are strings, as `look` has it.
--
-- KEYS  6… name, fence and queue of each other name; then gone once more, which no other key can be
--
-- provides  BEHIND DONE HOLDER KEPT NAMES OTHERS WENT
-- needs     GONE
local BEHIND = 6
while KEYS[BEHIND] ~= GONE do BEHIND = BEHIND + 3 end
local OTHERS = redis.call('MGET', unpack(KEYS, 1, BEHIND - 1))
local HOLDER, DONE, WENT, KEPT = unpack(OTHERS, 1, 4)
local NAMES = { [KEYS[1]] = true }
for at = 6, BEHIND - 1, 3 do NAMES[KEYS[at]] = true end

--- names
-- Several names that are locked at once. The parts of a mutex know one name; `each` lets them know
-- one after the other, in the order of KEYS, until `of` returns something. Outside of it they know
-- the first.
--
-- provides  each free is_held
-- needs     BEHIND FENCE FENCE_MS HOLDER HOLDS IS_OURS KEPT LAST NAME OTHERS QUEUE WAITERS
-- needs     read_record
local states = { { NAME, FENCE, QUEUE, HOLDER, KEPT, LAST, FENCE_MS, HOLDS, WAITERS, IS_OURS } }
local function state() return { NAME, FENCE, QUEUE, HOLDER, KEPT, LAST, FENCE_MS, HOLDS, WAITERS, IS_OURS } end
local function enter(at) NAME, FENCE, QUEUE, HOLDER, KEPT, LAST, FENCE_MS, HOLDS, WAITERS, IS_OURS = unpack(states[at], 1, 10) end
for at = 6, BEHIND - 1, 3 do
  NAME, FENCE, QUEUE, HOLDER, KEPT = KEYS[at], KEYS[at + 1], KEYS[at + 2], OTHERS[at], OTHERS[at + 1]
  read_record()
  states[#states + 1] = state()
end
enter(1)
local function each(of)
  states[1] = state()
  local found
  for at = 1, #states do
    enter(at)
    found = of(at)
    states[at] = state()
    if found then break end
  end
  enter(1)
  return found
end
local mine = {}
each(function()
  if HOLDER == ARGV[2] then mine[#mine + 1] = NAME end
end)
local function is_held() return #mine == #states end
local function free()
  if #mine > 0 then redis.call('DEL', unpack(mine)) end
  each(function() HOLDER = HOLDER ~= ARGV[2] and HOLDER end)
end

--- versions
-- A record of another version is refused, of whichever name.
--
-- reply {-4, nonce}
--
-- needs     each is_unknown
if each(is_unknown) then return { -4, ARGV[1] } end

--- acquire
-- Takes all names, or none. If one of them is not to be had, it says for how long, and joins the
-- queue of that name.
--
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive · 5 waiter,
--       empty not to wait · 6 f to wait for its turn, b to barge; then r to have the results if it
--       is refused, too · 7 label · 8 not used · 9 ms for which the records outlast the hold ·
--       10… reads
-- reply {1, nonce, fence, results}  all are held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results, at, kept}
--                                   another holds the name at this place, from 1, for that long
--                                   (-1: without end), or it is free for the first in its queue;
--                                   the others as for a mutex; the results are empty unless they
--                                   were asked for; for how many ms a name that is free is kept
--                                   for this waiter, if it is
--       {-1, nonce}                 a straggler: this token was abandoned, has ended, or has lost
--                                   some of the names
--
-- Asking again with the same token is harmless, as with a mutex.
--
-- A waiter that barges stands in one queue, that of the name which is not to be had. A fair one
-- stands in all from the beginning. So of two that want some of the same names, one is first for
-- all of these. A waiter that leaves the queue of a free name tells the next one, since the name
-- may have been kept free for it. So does a fair one that does not insist on a free name any more.
-- A name of another type is told before any queue is joined.
--
-- Others may have taken a fair one for dead at one name alone, while the clock was ahead. Behind
-- them there, and ahead of them elsewhere, it would wait in a circle. So it joins all queues anew.
--
-- needs     DONE FENCE FENCE_MS HOLDER KEPT NAME WAITER WENT each extend head hold_of insists
-- needs     integer is_held join keep line_of liveness_left next_fence notify number_at prolong
-- needs     refuse remove_waiter run save
each(function() FENCE_MS = math.max(FENCE_MS, ARGV[9]) end)
local held, fair = is_held(), string.find(ARGV[6], 'f')
local taken, ms, label
if not held then
  local has_part = each(function() return HOLDER == ARGV[2] end)
  if has_part or WENT or DONE then return { -1, ARGV[1] } end
  taken = each(function(at)
    if HOLDER then
      ms, label = redis.call('PTTL', NAME), select(4, hold_of(HOLDER))
      return at
    end
    local first = fair and head()
    if first and first ~= WAITER then
      ms = liveness_left(first)
      return at
    end
  end)
end
-- Keys of another type are told before anything is done.
local unknown = {}
each(function()
  if not HOLDER then unknown[#unknown + 1] = NAME end
  if not KEPT then unknown[#unknown + 1] = FENCE end
end)
if unknown[1] and redis.call('EXISTS', unpack(unknown)) > 0 then
  for _, key in ipairs(unknown) do redis.call('GET', key) end
end
if taken then
  local reply, kept
  if fair and each(function() return liveness_left(WAITER) <= 0 end) then
    each(function() remove_waiter(WAITER) end)
  end
  each(function(at)
    if at == taken then
      reply = refuse(ms, label)
    elseif WAITER ~= '' and fair then
      join()
      if not HOLDER then
        notify(true)
        local at = line_of(WAITER)
        kept = at and insists(number_at(at + 28))
      end
    elseif liveness_left(WAITER) > 0 then
      remove_waiter(WAITER)
      notify()
    end
  end)
  reply[7], reply[8], reply[9] = reply[7] or '', taken, kept or nil
  return reply
end
each(function() remove_waiter(WAITER) end)
local fence = held and hold_of(ARGV[2])
if fence then
  extend(ARGV[3])
  each(function() save() end)
else
  fence = 0
  each(function() fence = math.max(fence, next_fence()) end)
  fence = integer(fence)
  each(function()
    keep(fence, ARGV[2], fence, ARGV[3], ARGV[7])
    if HOLDER then prolong(NAME, ARGV[3]) else redis.call('SET', NAME, ARGV[2], 'NX', 'PX', ARGV[3]) end
  end)
end
return { 1, ARGV[1], fence, run(10) }

--- extend
-- How the hold of all names goes on.
--
-- provides  extend
-- wraps     extend
-- needs     each
local extend_one = extend
local function extend(ms)
  local left = 0
  each(function() left = math.max(left, extend_one(ms)) end)
  return left
end

--- lost
-- Where one name is not this token's any more, none is: what is left of the others is given back.
--
-- provides  lost
-- wraps     lost
-- needs     free notify
local say_lost = lost
local function lost()
  pcall(free)
  pcall(notify)
  return say_lost()
end

--- notify
-- Who waits for this name, if it is free, is handed it.
--
-- provides  notify
-- needs     WAITERS hand_over save
-- Damage to the queue must not keep the lock from being freed.
local function notify(quietly)
  if WAITERS ~= '' then pcall(hand_over, quietly) end
  pcall(save)
end

--- notify_all
-- Who waits for one of the names that is free now is handed it.
--
-- provides  notify
-- wraps     notify
-- needs     each
local notify_one = notify
local function notify()
  each(function() notify_one() end)
end

--- reply
-- The end of a script that has made its reply.
--
-- needs     notify reply
notify()
return reply

--- leave
-- How a waiter leaves the queues of all names, and gives back what it has of them.
--
-- provides  remove_waiter
-- wraps     remove_waiter
-- needs     each free
local remove_from_one = remove_waiter
local function remove_waiter(waiter)
  each(function() pcall(remove_from_one, waiter) end)
  free()
end

--- inspect
-- Says who holds any of the names, and for how long; the highest fence that was issued; and how
-- many wait for the name that most wait for. Changes nothing.
--
-- ARGV  1 nonce · 2 not used
-- reply {1, nonce, RESP of: nil, 0, -2, the last fence and holds or nil, waiters, 0: all as for a
--                  lock that nobody holds; then an array of each holder once, ms left, and label;
--                  and nil}
--
-- needs     HOLDER LAST NAME each hold_of known resp waiting
local last, highest, most, holders, seen = false, -1, 0, {}, {}
each(function()
  -- Of another type it is an error.
  local holder = HOLDER or redis.call('GET', NAME)
  if holder and not seen[holder] then
    seen[holder] = true
    holders[#holders + 1] = { holder, redis.call('PTTL', NAME), select(4, hold_of(holder)) or '' }
  end
  local fence = known()
  if fence and tonumber(LAST) > highest then last, highest = fence, tonumber(LAST) end
  most = math.max(most, waiting())
end)
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(last) .. resp(most) .. resp(0) .. resp(holders) .. resp(false) }

--- force_release
-- Frees all names, whoever holds which of them and whatever they are stored as.
--
-- ARGV  1 nonce
-- reply {1, nonce}  any was held
--       {0, nonce}  all were free
--
-- A repeat must not hit whoever was next.
--
-- needs     DONE HOLDER NAME RECEIPT each notify
local RECEIPT_MS = 30000
if DONE then return { tonumber(DONE), ARGV[1] } end
local held = 0
each(function()
  if redis.call('DEL', NAME) == 1 then
    held, HOLDER = 1, false
    notify()
  end
end)
redis.call('SET', RECEIPT, held, 'PX', RECEIPT_MS)
return { held, ARGV[1] }
