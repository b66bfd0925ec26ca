-- Shared: gives the places that are free now to the first waiters that are alive and hear of it, or
-- that were overtaken for too long (hearing.lua). Behind a waiter for whom there is no room, nobody
-- gets one; nor behind a fair one that does not hear of it, unless that is to read: readers are
-- fair to writers alone.
--
-- A waiter that wants something else is handed nothing: one for several names or limits at once
-- (`a`) must have all of them, one for a permit waits at a name that was a semaphore before. The
-- first fair one of these and the first that barges are told to ask, if there is room for it. But
-- from the second time on those that barge go ahead of them, unless they insist. One for several
-- limits that would not answer is passed over. A waiter of another version asks unasked.
--
-- A place is stored before it is told: if that fails, nobody may hear of it.
--
-- provides  hand_over
-- needs     gather grant in_order insists integer is_full is_told_first line_of listens
-- needs     liveness_left may_be_overtaken now_ms now_us number_at remove_waiter suits
-- A waiter, in the form of record.lua. Its fairness, and what it wants, are one word.
local function parts(waiter) return string.match(waiter, '^v1 (%S+) (%d+) (%l)(%S*) (%d+) (%S*) (.*)$') end
-- Whether a waiter for several limits hears that there is room, and asks within a second.
local ANSWERS_MS = 1000
local function answers(waiter, channel)
  local at = line_of(waiter)
  local told = at and number_at(at + 14) or 0
  return channel ~= '' and listens(channel) and not (told > 0 and now_ms() - told > ANSWERS_MS)
end
-- A waiter that listens at another node is told too. If the place is kept for less than its grant,
-- it must ask.
local function give(waiter, most)
  local token, ms, _, want, ttl, label, channel = parts(waiter)
  remove_waiter(waiter)
  local fence = grant(token, math.min(ms, most), ttl, label, want)
  local told = tonumber(ms) <= most and fence .. ' ' .. integer(now_us()) or '1'
  if channel ~= '' then redis.pcall('PUBLISH', channel, told) end
end
-- Gives one place, and returns whether there may be another.
local function hand_one()
  gather()
  local first, asks
  for came, waiter in in_order() do
    local token, _, fair, want, _, _, channel = parts(waiter)
    if not token then break end
    if not suits(want) then
      local has_room = not is_full(want)
      if want == 'a' or has_room and answers(waiter, channel) then
        asks = asks or {}
        if has_room and not asks[fair] then
          if is_told_first(waiter) or insists(came) then
            asks = { channel }
            break
          end
          asks[fair] = channel ~= '' and channel or nil
        end
      end
    elseif is_full(want) then
      break
    elseif fair == 'b' or not asks then
      first = first or waiter
      if channel ~= '' and listens(channel) then
        if first == waiter or may_be_overtaken(first) then give(waiter, math.huge) else give(first, liveness_left(first)) end
        return true
      elseif fair == 'f' and want ~= 'r' then
        return
      end
    end
  end
  for _, channel in pairs(asks or {}) do redis.pcall('PUBLISH', channel, '0') end
end
local function hand_over()
  local given = 0
  while given < 100 and hand_one() do given = given + 1 end
end
