-- Shared: gives the places that are free now to the first waiters that are alive and hear of it, or
-- that were overtaken for too long (hearing.lua). Behind a waiter for whom there is no room, nobody
-- gets one; nor behind a fair one that does not hear of it, unless that is to read: readers are
-- fair to writers alone.
--
-- A waiter that wants something else is told to ask, and the name stays free: one for several names
-- at once (`a`) asks for all of them, and one for a permit waits at a name that was a semaphore
-- before.
--
-- A place is stored before it is told: if that fails, nobody may hear of it.
--
-- provides  notify
-- needs     NOW_US QUEUE grant integer is_full listens liveness_left may_be_overtaken remove_waiter
-- needs     suits
-- A waiter, in the form of queue.lua. Its fairness, and what it wants, are one word.
local function parts(waiter) return string.match(waiter, '^(%S+) (%d+) (%l)(%S*) (%d+) (%S*) (.*)$') end
-- A waiter that listens at another node is told too. If the place is kept for less than its grant,
-- it must ask.
local function give(waiter, most)
  local token, ms, _, want, ttl, label, channel = parts(waiter)
  local fence = grant(token, math.min(ms, most), ttl, label, want)
  local told = tonumber(ms) <= most and fence .. ' ' .. integer(NOW_US) or '1'
  if channel ~= '' then redis.pcall('PUBLISH', channel, told) end
  remove_waiter(waiter)
end
local function hand_on()
  local place, first = 0
  for _ = 1, 100 do
    local waiter = redis.call('ZRANGE', QUEUE, place, place)[1]
    if not waiter then return end
    local _, _, fair, want, _, _, channel = parts(waiter)
    if liveness_left(waiter) <= 0 then
      remove_waiter(waiter)
    elseif is_full(want) then
      return
    elseif not suits(want) then
      return redis.pcall('PUBLISH', channel, '0')
    else
      place, first = place + 1, first or waiter
      if channel ~= '' and listens(channel) then
        if first == waiter or may_be_overtaken(first) then give(waiter, math.huge) else give(first, liveness_left(first)) end
        place, first = 0, nil
      elseif fair == 'f' and want ~= 'r' then
        return
      end
    end
  end
end
-- Damage to the queue must not keep a place from being freed.
local function notify() pcall(hand_on) end
