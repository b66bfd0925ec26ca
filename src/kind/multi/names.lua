-- Shared: several names that are locked at once. The parts of a mutex know one name; `each` lets
-- them know one after the other, in the order of KEYS, until `of` returns something. Outside of it
-- they know the first.
--
-- `Client::lock_all(names)` takes up to 32 names. The lease has all of them, or there is no lease.
-- Each name is the mutex of that name. So plain locks of a name, ours and others', exclude it and
-- are excluded. All that docs/protocol.md says of tokens, deadlines, receipts, commands and unknown
-- outcomes holds. What differs:
-- - One script for all names (`src/kind/multi`): each name's key, fence and queue are in `KEYS`,
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
