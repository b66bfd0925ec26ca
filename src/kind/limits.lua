-- Permits of several semaphores at once, all or none.
--
-- `Client::limits` takes permits of up to 32 semaphores. The lease has all of them, or there is no
-- lease. Each is stored as that semaphore has it, so both count each other's permits. All that
-- docs/protocol.md and semaphore.lua say holds. What differs:
-- - One script for all names. They are sorted, and receipt and `gone` are those of the first.
-- - Acquire looks at all names before it writes, and takes all or none, under one fence that is
--   higher than the last of each. A refusal says which name is full, the first of them.
-- - Renew, exec, release and commit count only if every name has the token. If one has not, the
--   lease is lost, and what is left of it is given back.
-- - A waiter has none of its permits, so no order of names deadlocks. It stands in one queue, that
--   of the name that it was refused for, as '<limit>/<permits>' behind an `a`, and is told to ask
--   when there is room for it (`hand_on`). If it finds another name full by then, it moves to
--   that queue, and gives on what it leaves. It goes ahead of those that came later than it first
--   came, so among waiters that hear of it the oldest one is told first, wherever it stands. For
--   one that came 2 s ago the room is kept meanwhile (`besides_kept`).
-- - It holds no room while it waits for another name. So nobody can be fair: one that waited its
--   turn in every queue would keep the other tenants out of a limit that they share with it.
-- - Redis Cluster, shards, inspect and forced releases: as in multi.lua.
--
-- kind  limits, made of semaphore, holders, multi
--
-- script acquire: one version life storage clean acquire
-- script renew: one version storage clean all renew
-- script release: one version storage clean all release reply
-- script abandon: one storage clean all abandon leave reply
-- script inspect: one version storage inspect
-- script force_release: one storage clean force_release

--- look
-- What the keys of several semaphores have, as far as they are strings.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6 holds · 7… name, fence, queue and holds
--       of each other name; then gone once more, which no other key can be
--
-- provides  BEHIND DONE FOUND NAMES WENT all
-- needs     GONE
local BEHIND, NAMES, all = 7, {}, {}
while KEYS[BEHIND] ~= GONE do BEHIND = BEHIND + 4 end
local FOUND = redis.call('MGET', unpack(KEYS, 1, BEHIND - 1))
local DONE, WENT = FOUND[2], FOUND[3]

--- want
-- What is wanted of each name, of 'a<limit>/<permits>;…' in the order of the names; and how a
-- waiter stands in the queue of one of them.
--
-- provides  waiter_at want_at
local function want_at(wants, place)
  for want in string.gmatch(wants, '[^a;]+') do
    place = place - 1
    if place == 0 then return want end
  end
end
local function waiter_at(waiter, place)
  return (string.gsub(waiter, '^(v1 %S+ %d+ %la)(%S+)', function(start, wants) return start .. want_at(wants, place) end))
end

--- one
-- Begins what is done for each name. Up to `end` of the loop the parts of a semaphore know that
-- name alone, and hand what is to be done with it on in `all`.
--
-- provides  FENCE HOLDERS IS_SHARED KEPT MORE NAME QUEUE place
-- begins    a loop
-- wraps     FENCE NAME QUEUE
-- needs     BEHIND FOUND NAMES all
for at = 3, BEHIND - 1, 4 do
local NAME, FENCE, QUEUE, MORE = at == 3 and NAME or KEYS[at], unpack(KEYS, at + 1, at + 3)
local HOLDERS, KEPT, IS_SHARED, place = NAME, FOUND[at + 1], true, #all + 1
NAMES[NAME] = true

--- all
-- Ends what `one` began: how all names are held, go on, and are given back.
--
-- provides  acquired each extend free is_held notify save
-- ends      the loop
-- wraps     extend free is_held notify save
-- needs     all hold_of place remove_waiter
all[place] = { is_held, free, hold_of, extend, notify, remove_waiter }
end
local function each(of)
  for at, one in ipairs(all) do
    if of(at, unpack(one)) then return true end
  end
end
local function is_held() return not each(function(_, is_held) return not is_held() end) end
local function acquired() return all[1][3](ARGV[2]) end
local function free() each(function(_, _, free) pcall(free) end) end
local function extend(ms)
  local left = 0
  each(function(_, _, _, _, extend) left = math.max(left, extend(ms)) end)
  return left
end
local function notify() each(function(_, _, _, _, _, notify) notify() end) end
-- That saves each.
local save = notify

--- acquire
-- Takes permits of all names, or of none. If one of them has too few, it says for how long, and
-- joins the queue of that name.
--
-- KEYS  as `look` has them, then keys of the reads
-- ARGV  as of `acquire` of semaphore.lua; 8 what it wants of each name, as `want` has it
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
-- ends      the loop
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
if is_held() then all.held = (all.held or 0) + 1 elseif is_full(besides_kept(want) or want) then all.full = all.full or place end
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

--- leave
-- Whoever gives up leaves the queue that it stands in, and gives back what it has of them.
--
-- needs     each free waiter_at
free()
each(function(at, _, _, _, _, _, leave_queue) pcall(leave_queue, waiter_at(ARGV[3], at)) end)

--- inspect
-- Says who holds permits of any of the names, and for how long; the highest fence that was issued;
-- how many wait for the name that most wait for; and for how many more leases there is room.
-- Changes nothing.
--
-- KEYS  as `look` has them
-- ARGV  1 nonce · 2 what is wanted of each name
-- reply {1, nonce, RESP as `inspect` of semaphore.lua has it, with each holder once, and how many
--                  permits it has of the first name of which it has any}
--
-- ends      the loop
-- needs     LAST all known listed permits_in place refuse_others resp shown waiting want_at
-- needs     weight_in weight_of
refuse_others()
local want = want_at(ARGV[2], place)
local room, holders, fence = permits_in(want), all.holders or {}, known()
for _, token in ipairs(listed()) do
  room = room - weight_of(token)
  if not all[token] then holders[#holders + 1] = shown(token, weight_of(token)) end
  all[token] = true
end
all[place], all.holders = place, holders
all.room = math.min(all.room or math.huge, math.max(0, math.floor(room / weight_in(want))))
if fence and tonumber(LAST) > (all.last or -1) then all.fence, all.last = fence, tonumber(LAST) end
all.most = math.max(all.most or 0, waiting())
end
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(all.fence) .. resp(all.most) .. resp(0) .. resp(all.holders) .. resp(all.room) }

--- force_release
-- Frees all permits of all names, whoever has them and whatever the names are stored as.
--
-- KEYS  as `look` has them
-- ARGV  1 nonce
-- reply {1, nonce}  any was held
--       {0, nonce}  all were free
--
-- A repeat must not hit whoever was next.
--
-- ends      the loop
-- needs     DONE FENCE NAME RECEIPT all delete notify place
all[place] = place
if not DONE and redis.call('EXISTS', NAME) == 1 then
  all.held = 1
  delete()
  redis.pcall('PUBLISH', string.sub(FENCE, 1, -6) .. 'lost', '0')
  notify()
end
end
if DONE then return { tonumber(DONE), ARGV[1] } end
redis.call('SET', RECEIPT, all.held or 0, 'PX', 30000)
return { all.held or 0, ARGV[1] }
