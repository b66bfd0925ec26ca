-- The queue: its order, who joins it, and who is handed what is free.

--- queue
-- The waiters. The record has the first ones, and '+' behind them if others wait at QUEUE. So a
-- script reads and writes few of them, however many wait. Nothing in the record is stored before
-- `save`.
--
-- QUEUE is a sorted set: each waiter by when it came, in us, and behind all of these '+<waiter>'
-- by until when it counts as alive. `gather` forgets waiters of the record that are dead, and takes
-- in those that are first at QUEUE.
--
-- liveness_left: how much longer a waiter counts as alive. number_at and write are about the time
-- at a place in WAITERS: behind where a line begins, 0 until when its waiter is alive, 14 since
-- when it is overtaken, or told of a name that it cannot have alone, and 28 when it came.
--
-- provides  FEW LATER count digits gather in_order line_of liveness_left living number_at
-- provides  others_wait remove_waiter waiting write
-- needs     QUEUE WAITERS integer now_ms save
local FEW, LATER = 16, 4000000000000000
local function digits(ms) return string.format('%013.0f', ms) end
local function count(waiters) return select(2, string.gsub(waiters, ',', '')) end
local function others_wait() return string.sub(WAITERS, -1) == '+' end
local function line_of(waiter)
  local at = waiter ~= '' and string.find(WAITERS, ' ' .. waiter .. ',', 1, true)
  return at and at - 41
end
local function number_at(at) return tonumber(string.sub(WAITERS, at, at + 12)) end
local function write(at, ms) WAITERS = string.sub(WAITERS, 1, at - 1) .. digits(ms) .. string.sub(WAITERS, at + 13) end
local function later(waiter) return (tonumber(redis.call('ZSCORE', QUEUE, '+' .. waiter)) or 0) - LATER end
local function liveness_left(waiter)
  local at = line_of(waiter)
  local alive = at and number_at(at) or waiter ~= '' and others_wait() and later(waiter)
  return alive and alive - now_ms() or 0
end
local function remove_waiter(waiter)
  local at = line_of(waiter)
  if at then
    WAITERS = string.sub(WAITERS, 1, at - 1) .. string.sub(WAITERS, at + #waiter + 43)
  elseif waiter ~= '' and others_wait() then
    redis.call('ZREM', QUEUE, waiter, '+' .. waiter)
  end
end
-- Of these waiters, those that count as alive. Mostly all do. None does for longer than it may ask
-- for: such a time is from before the clock was set back.
local MOST_ALIVE_MS = 10000
local function living(waiters)
  local now, most, at, alive = digits(now_ms()), digits(now_ms() + MOST_ALIVE_MS), 1, nil
  while at < #waiters do
    alive = string.sub(waiters, at, at + 12)
    if alive <= now or alive > most then break end
    at = (string.find(waiters, ',', at, true) or #waiters) + 1
  end
  if at >= #waiters then return waiters end
  return (string.gsub(waiters, '(%d+)( %d+ [^,]*,)', function(alive, waiter) return alive <= now and '' or alive > most and most .. waiter or nil end))
end
-- The first ones at QUEUE: each waiter, when it came, and until when it counts as alive.
local function first_later(most)
  local found, own, all = redis.call('ZRANGE', QUEUE, 0, most - 1, 'WITHSCORES'), {}, {}
  for at = 1, #found, 2 do
    if tonumber(found[at + 1]) < LATER then own[#own + 1] = '+' .. found[at] end
  end
  local alive = own[1] and redis.call('ZMSCORE', QUEUE, unpack(own))
  for at = 1, #own do all[at] = { found[2 * at - 1], found[2 * at] / 1000, (tonumber(alive[at]) or 0) - LATER } end
  return all
end
local function gather()
  WAITERS = living(WAITERS)
  while others_wait() and count(WAITERS) < FEW / 2 do
    local lines, gone = { string.sub(WAITERS, 1, -2) }, {}
    for _, one in ipairs(first_later(FEW)) do
      local waiter, came, alive = unpack(one)
      if alive > now_ms() and not line_of(waiter) then lines[#lines + 1] = table.concat({ digits(alive), digits(0), digits(came), waiter .. ',' }, ' ') end
      gone[#gone + 1] = waiter
      gone[#gone + 1] = '+' .. waiter
    end
    if #gone > 0 then lines[#lines + 1] = '+' end
    WAITERS = table.concat(lines)
    -- First what may fail.
    save()
    if #gone > 0 then redis.call('ZREM', QUEUE, unpack(gone)) end
  end
end
-- The waiters in their order, each with when it came: those of the record, and then, if one asks
-- for more, the first hundred at QUEUE.
local function in_order()
  local of_record, others, at = string.gmatch(WAITERS, '%d+ %d+ (%d+) ([^,]*),'), nil, 0
  return function()
    local came, waiter = of_record()
    if came or not others_wait() then return came, waiter end
    others = others or first_later(100)
    repeat at = at + 1 until not others[at] or others[at][3] > now_ms()
    if others[at] then return others[at][2], others[at][1] end
  end
end
-- How many wait.
local function waiting()
  if WAITERS == '' then return 0 end
  return count(living(WAITERS)) + (others_wait() and redis.call('ZCOUNT', QUEUE, integer(LATER + now_ms()), '+inf') or 0)
end

--- join
-- A caller that is refused is told why, and joins the queue if it waits.
--
-- A waiter that asks again writes only until when it counts as alive. One that paused for so long
-- that it counted as dead goes behind all others. A waiter that is dead is removed when another
-- joins.
--
-- The time that it is told is no earlier than the last fence. So a hand-over from before has no
-- higher fence than that, even if the clock was set back in between: fences only grow. Who does not
-- wait is told no time.
--
-- Behind the first ones, it waits at QUEUE.
--
-- provides  WAITER head join refuse
-- needs     FENCE FEW KEPT LAST LATER QUEUE WAITERS check_record count digits gather integer
-- needs     line_of liveness_left living longest_life now_ms now_us others_wait run save waiting
-- needs     write
local WAITER = ARGV[5]
local function head()
  if WAITERS ~= '' then gather() end
  return string.match(WAITERS, '^%d+ %d+ %d+ ([^,]*),')
end
-- Returns how many wait ahead.
local function join_later(alive)
  local own, first = '+' .. WAITER, count(WAITERS)
  if liveness_left(WAITER) > 0 then
    redis.call('ZADD', QUEUE, integer(LATER + alive), own)
    return first + redis.call('ZRANK', QUEUE, WAITER)
  end
  -- Whoever is dead leaves the record, and may be this one.
  if not others_wait() then WAITERS = WAITERS .. '+' end
  save()
  redis.call('ZREM', QUEUE, WAITER)
  -- Behind all, even if the clock was set back.
  local ahead = redis.call('ZCOUNT', QUEUE, '-inf', '(' .. integer(LATER))
  local last = ahead > 0 and redis.call('ZRANGE', QUEUE, ahead - 1, ahead - 1, 'WITHSCORES')[2] or 0
  redis.call('ZADD', QUEUE, integer(math.max(now_us(), last + 1)), WAITER, integer(LATER + alive), own)
  redis.call('PEXPIRE', QUEUE, 3600000)
  return first + ahead
end
local function join()
  local alive = now_ms() + ARGV[4]
  local at = line_of(WAITER)
  -- Whoever is dead may have left WAITERS, and not the record yet.
  if at and liveness_left(WAITER) > 0 and string.sub(KEPT, -#WAITERS) == WAITERS then
    local head = #KEPT - #WAITERS
    write(at, alive)
    redis.call('SETRANGE', FENCE, head + at - 1, digits(alive))
    KEPT = string.sub(KEPT, 1, head) .. WAITERS
    return count(living(string.sub(WAITERS, 1, at - 1)))
  end
  gather()
  at = line_of(WAITER)
  local ahead = count(at and string.sub(WAITERS, 1, at - 1) or WAITERS)
  if at then
    write(at, alive)
  elseif others_wait() or ahead >= FEW then
    return join_later(alive)
  else
    WAITERS = table.concat({ WAITERS, digits(alive), ' ', digits(0), ' ', digits(now_ms()), ' ', WAITER, ',' })
  end
  save()
  return ahead
end
local function refuse(ms, label)
  -- First what may fail: nobody waits who was told of an error.
  check_record()
  local now, ahead = LAST or 0, nil
  if WAITER == '' then ahead = waiting() else now, ahead = integer(math.max(now_us(), now)), join() end
  -- Of another program's hold nobody prolongs the record.
  if WAITER ~= '' and not label then redis.call('PEXPIRE', FENCE, longest_life()) end
  return { 0, ARGV[1], ms, ahead, now, label or '', string.find(ARGV[6], 'r') and run(10) or nil }
end

--- leave_queue
-- The waiter of an acquisition that is given up leaves the queue.
--
-- needs     remove_waiter
-- Damage to the queue must not keep the lock from being freed.
pcall(remove_waiter, ARGV[3])

--- if_waited_for
-- Begins what is done only if somebody waits. In every run Lua makes each function of a script
-- anew, so turns that nobody waits for do without those of the queue.
--
-- begins    a branch
-- needs     WAITERS
if WAITERS ~= '' then

--- hearing
-- Which waiters may be handed what is free.
--
-- A waiter that does not listen is passed over, and takes the lock when it asks. Two are not passed
-- over: a fair waiter, whose turn it is, and the first one, once it has asked 2 s after it was
-- overtaken first, or was overtaken for 2 s and three times as long as it counts as alive yet. The
-- lock is then kept for it while it counts as alive, and it finds it when it asks. So one that has
-- died costs the others less than half of their time, and mostly nothing.
--
-- A release looks at the waiters of the record, and at a hundred behind them.
--
-- Only a waiter that NUMSUB counts is told. On a cluster a message reaches all nodes, and the count
-- is this node's. So a lock that was announced first, and taken back since nobody was counted,
-- could have been heard of elsewhere.
--
-- A waiter for several names cannot take this one while it waits for another. So once it was told,
-- those that barge go ahead of it, or the name would be idle. But its names must be free at the
-- same time once. So it insists in the last quarter of rounds that double, counted from its
-- arrival, which are at the same time at all of its names. Sooner or later one is longer than the
-- others' holds.
--
-- provides  insists is_told_first listens may_be_overtaken
-- needs     line_of now_ms number_at write
local OVERTAKEN_MS = 2000
local function listens(channel)
  local heard = redis.pcall('PUBSUB', 'NUMSUB', channel)
  return (tonumber(heard[2]) or 0) > 0
end
-- A time that is still to come is from before the clock was set back. Of a waiter that is not in
-- the record yet, nothing is noted.
local function may_be_overtaken(first)
  local at, now = line_of(first), now_ms()
  if not at then return true end
  local alive, since = number_at(at), number_at(at + 14)
  if since == 0 or since > now then
    since = now
    write(at + 14, since)
  end
  -- It counts as alive for as long as it may be handed the lock, but for 1 s at least.
  local asked = alive - math.max(1000, tonumber(string.match(first, '^v1 %S+ (%d+)')))
  return asked > now or asked - since < OVERTAKEN_MS and now - since < math.max(OVERTAKEN_MS, 3 * (alive - now))
end
-- For how many ms yet it insists, if it does.
local function insists(came)
  local waited, round = math.abs(now_ms() - came), 100
  while round <= waited do round = 2 * round end
  return 8 * waited >= 7 * round and round - waited
end
local function is_told_first(waiter)
  local at = line_of(waiter)
  if not at or number_at(at + 14) > 0 then return false end
  write(at + 14, now_ms())
  return true
end

--- pass_on
-- Gives on what is free, and ends what `if_waited_for` began.
--
-- ends      the branch
-- needs     hand_over
-- Damage to the queue must not keep the lock from being freed.
pcall(hand_over)
end
