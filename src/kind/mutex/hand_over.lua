-- Shared: gives the lock, which is free now, to the first waiter that is alive and hears of it, or
-- to one that was overtaken for too long (hearing.lua).
--
-- The lock is stored before it is told: if that fails, nobody may hear of it. A waiter that is to
-- read (fairness `fr`, `br`) gets the lock as its writer, and is told to ask; `read_write` says
-- what becomes of that. One that wants something else is told to ask, and the lock stays free: one
-- for several names at once (`fa`, `ba`) asks for all of them, one for a permit (`f3`, `b3`) waits
-- at a name that was a semaphore before.
--
-- provides  delete notify release_one
-- needs     NAME NOW_US QUEUE integer issue_fence listens liveness_left may_be_overtaken
-- needs     remove_waiter
-- Whoever listens elsewhere hears of a lock that is kept for less than its ttl too, and must ask
-- for it.
local function give(waiter, most)
  local token, ms, want, ttl, label, channel = string.match(waiter, '^(%S+) (%d+) %l(%S*) (%d+) (%S*) (.*)$')
  if want ~= '' and want ~= 'r' then return redis.pcall('PUBLISH', channel, '0') end
  local fence = issue_fence(token, ttl, label)
  redis.call('SET', NAME, token, 'PX', integer(math.min(ms, most)))
  local told = want == '' and tonumber(ms) <= most and fence .. ' ' .. integer(NOW_US) or '1'
  if channel ~= '' then redis.pcall('PUBLISH', channel, told) end
  remove_waiter(waiter)
end
local function hand_over()
  local place, first = 0, nil
  for _ = 1, 100 do
    local waiter = redis.call('ZRANGE', QUEUE, place, place)[1]
    if not waiter then return end
    if liveness_left(waiter) <= 0 then
      remove_waiter(waiter)
    else
      place, first = place + 1, first or waiter
      local fair, channel = string.match(waiter, '^%S+ %d+ (%S+) %d+ %S* (.*)$')
      if channel ~= '' and listens(channel) then
        if first == waiter or may_be_overtaken(first) then return give(waiter, math.huge) end
        return give(first, liveness_left(first))
      end
      if fair == 'f' or fair == 'fa' then return end
    end
  end
end
-- Damage to the queue must not keep the lock from being freed.
local function notify() pcall(hand_over) end
local function delete()
  redis.call('DEL', NAME)
  notify()
end
local release_one = delete
