-- Shared: the waiters. The record has the first ones, and '+' behind them if others wait at QUEUE.
-- So a script reads and writes few of them, however many wait. Nothing in the record is stored
-- before `save`.
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
-- Of these waiters, those that count as alive. Mostly all do.
local function living(waiters)
  local now, at = digits(now_ms()), 1
  while at < #waiters and string.sub(waiters, at, at + 12) > now do
    at = (string.find(waiters, ',', at, true) or #waiters) + 1
  end
  if at >= #waiters then return waiters end
  return (string.gsub(waiters, '(%d+) %d+ [^,]*,', function(alive) return alive <= now and '' or nil end))
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
