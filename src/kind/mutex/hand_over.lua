-- Shared: gives the lock, which is free now, to the first waiter that is alive and hears of it, or
-- to one that was overtaken for too long (hearing.lua).
--
-- The lock is stored before it is told: if that fails, nobody may hear of it. What another program
-- has taken meanwhile, or keeps under the name, stays. A waiter that is to read (fairness `fr`,
-- `br`) gets the lock as its writer, and is told to ask; `read_write` says what becomes of that.
--
-- One that wants something else is handed nothing: one for several names at once (`fa`, `ba`) must
-- have all of them, one for a permit (`f3`, `b3`) waits at a name that was a semaphore before. The
-- first fair one of these and the first that barges are told to ask, and the lock stays free. But
-- from the second time on who barges goes ahead of them, unless they insist. With `quietly` none of
-- them is told. A waiter of another version asks by itself.
--
-- provides  hand_over
-- needs     HOLDER NAME gather in_order insists integer is_told_first issue_fence listens
-- needs     liveness_left may_be_overtaken now_us remove_waiter
-- Whoever listens elsewhere hears of a lock that is kept for less than its ttl too, and must ask
-- for it.
local function give(waiter, most)
  local token, ms, want, ttl, label, channel = string.match(waiter, '^v1 (%S+) (%d+) %l(%S*) (%d+) (%S*) (.*)$')
  if not redis.call('SET', NAME, token, 'NX', 'PX', integer(math.min(ms, most))) then return end
  HOLDER = token
  remove_waiter(waiter)
  local fence = issue_fence(token, ttl, label)
  local told = want == '' and tonumber(ms) <= most and fence .. ' ' .. integer(now_us()) or '1'
  if channel ~= '' then redis.pcall('PUBLISH', channel, told) end
end
local function hand_over(quietly)
  if HOLDER then return end
  gather()
  local first, asks
  for came, waiter in in_order() do
    local fair, want, channel = string.match(waiter, '^v1 %S+ %d+ (%l)(%S*) %d+ %S* (.*)$')
    if not fair then break end
    if want ~= '' and want ~= 'r' then
      asks = asks or {}
      if not asks[fair] and (is_told_first(waiter) or insists(came)) then
        asks = { channel }
        break
      end
      if channel ~= '' then asks[fair] = asks[fair] or channel end
    elseif fair == 'b' or not asks then
      first = first or waiter
      if channel ~= '' and listens(channel) then
        if first == waiter or may_be_overtaken(first) then return give(waiter, math.huge) end
        return give(first, liveness_left(first))
      end
      if fair .. want == 'f' then return end
    end
  end
  if quietly or not asks then return end
  for _, channel in pairs(asks) do redis.pcall('PUBLISH', channel, '0') end
end
