-- Shared: which waiters may be handed what is free.
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
