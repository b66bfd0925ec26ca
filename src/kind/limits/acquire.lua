-- Takes permits of all names, or of none. If one of them has too few, it says for how long, and
-- joins the queue of that name.
--
-- KEYS  as look.lua has them, then keys of the reads
-- ARGV  as of semaphore/acquire.lua; 8 what it wants of each name, as want.lua has it
-- reply {1, nonce, fence, results}  all are held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results, at}
--                                   the name at this place, from 1, has too few for that long; the
--                                   others as of a semaphore
--       {-1, nonce}                 a straggler: this token was abandoned, has ended, or has lost
--                                   some of the names
--
-- Keys of another type are told before anything is done. So is a fence that leaves hardly any
-- behind it: all names would have it.
--
-- needs     DONE FENCE KEPT KEPT_MS LAST MORE QUEUE WAITER WAITERS WENT all besides_kept earliest
-- needs     extend grant hold_of in_the_way integer is_full is_held line_of liveness_left
-- needs     next_fence notify now_us number_at others_wait place refuse refuse_others
-- needs     remove_waiter run save waiter_at want_at write
local want = want_at(ARGV[8], place)
WAITER = waiter_at(WAITER, place)
refuse_others()
if not KEPT and redis.call('EXISTS', FENCE) == 1 then redis.call('GET', FENCE) end
if earliest then redis.call('HLEN', MORE) end
if others_wait() then redis.call('ZCARD', QUEUE) end
all.fence = math.max(all.fence or 0, next_fence())
if all.fence > 9000000000000000 then redis.call('ZCARD', FENCE) end
if is_held() then all.held = (all.held or 0) + 1 elseif is_full(besides_kept(want)) then all.full = all.full or place end
-- Who holds them already goes on.
local function take(fence)
  remove_waiter(WAITER)
  LAST = all.held and LAST or fence - 1
  if all.held then extend(ARGV[3]) else grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], want) end
  notify()
  return (hold_of(ARGV[2]))
end
local function leave()
  if liveness_left(WAITER) <= 0 then return end
  local at = line_of(WAITER)
  all.came = at and number_at(at + 28) or (tonumber(redis.call('ZSCORE', QUEUE, WAITER)) or now_us()) / 1000
  remove_waiter(WAITER)
  notify()
end
-- Having asked, it may be told first again.
local function wait()
  local reply, came
  if is_full(want) then reply = refuse(in_the_way(want)) else reply = refuse(KEPT_MS) end
  came = all.came
  local at = line_of(WAITER)
  if at then
    write(at + 14, 0)
    if came then
      write(at + 28, came)
      local line, later = string.sub(WAITERS, at, at + #WAITER + 42), nil
      remove_waiter(WAITER)
      for from, its in string.gmatch(WAITERS, '()%d+ %d+ (%d+) [^,]*,') do
        later = later or tonumber(its) > came and from
      end
      later = later or #WAITERS + 1
      WAITERS = string.sub(WAITERS, 1, later - 1) .. line .. string.sub(WAITERS, later)
    end
    save()
  elseif came and others_wait() then
    redis.call('ZADD', QUEUE, integer(came * 1000), WAITER)
  end
  reply[7], reply[8] = reply[7] or '', place
  return reply
end
all[place] = { take, leave, wait }
end
if all.held and all.held < #all or not all.held and (WENT or DONE) then return { -1, ARGV[1] } end
if not all.held and all.full then
  for at, one in ipairs(all) do
    if at ~= all.full then one[2]() end
  end
  return all[all.full][3]()
end
local fence
for _, one in ipairs(all) do fence = one[1](all.fence) end
return { 1, ARGV[1], fence, run(10) }
