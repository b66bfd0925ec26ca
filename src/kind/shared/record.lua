-- Shared: the record of a lock, which is at FENCE: 'v1 <last> <life> <holds>,<waiters>'. No part of
-- it has a comma, and no hold a semicolon.
--
-- Last is the last fence issued. Life is for how many ms the record outlasts a hold (life.lua).
--
-- A hold is '<token> <fence> <ttl> <until> <label>;': the fence, 0 if it is not known here; the ttl
-- in ms that it was acquired for; until when it lasts, in Redis's ms, 0 if a key of its own says
-- so; and its label, which is one word, or empty. There is the present hold, or the last one; and
-- as many as there are if several hold the lock at once.
--
-- The waiters are there in order of arrival, each as '<alive> <since> <came> <waiter>,': until when
-- it counts as alive, since when it is overtaken (0: it is not), and when it came, in Redis's ms,
-- with 13 digits each. A waiter is 'v1 <token> <ms> <f or b> <ttl> <label> <channel>': how long it
-- has the lock if it is handed over, whether it waits its turn (fair) or barges, the ttl in ms and
-- the label that it asks for, and its channel if it listens.
--
-- A number that another program keeps in place of the record is the last fence.
--
-- provides  FENCE_MS HOLDS IS_OURS LAST WAITERS check_record hold_of is_unknown keep longest_life
-- provides  read_record save
-- needs     FENCE KEPT
local LAST, FENCE_MS, HOLDS, WAITERS, IS_OURS
local function read_record()
  LAST, FENCE_MS, HOLDS, WAITERS = string.match(KEPT or '', '^v1 (%d+) (%d+) ([^,]*),(.*)$')
  IS_OURS = LAST
  if not LAST then LAST, FENCE_MS, HOLDS, WAITERS = string.match(KEPT or '', '^(%d+)$'), 0, '', '' end
end
read_record()
-- One that another version of this library has stored is refused, and not misread.
local function is_unknown() return not IS_OURS and string.find(KEPT or '', '^v%d+ ') end
-- What another program keeps there otherwise stays, as a number from 2^53 on, which Lua does not
-- count exactly. Of a string this is the error WRONGTYPE.
local function check_record()
  if KEPT and not (LAST and tonumber(LAST) < 9007199254740991) then redis.call('ZCARD', FENCE) end
end
-- Fence, ttl, until, label.
local function hold_of(token)
  local at = string.find(';' .. HOLDS, ';' .. token .. ' ', 1, true)
  if at then return string.match(HOLDS, '^(%d+) (%d+) (%d+) ([^;]*)', at + #token + 1) end
end
-- It lasts an eighth longer than it must. So it is seldom prolonged (prolong.lua).
local function longest_life() return math.floor(FENCE_MS * 9 / 8) end
-- Stores what has changed. With a time, the record outlasts that; else it lasts as long as before.
local function save(ms)
  if not (ms or IS_OURS) and HOLDS .. WAITERS == '' then return end
  local text = table.concat({ 'v1 ', LAST or 0, ' ', FENCE_MS, ' ', HOLDS, ',', WAITERS })
  if ms or not IS_OURS then
    if not redis.call('SET', FENCE, text, 'PX', longest_life() + (ms or 0), KEPT and 'XX' or 'NX') then redis.call('GET', FENCE) end
  elseif string.sub(text, 1, #KEPT) ~= KEPT then
    redis.call('SET', FENCE, text, 'KEEPTTL')
  elseif text ~= KEPT then
    redis.call('APPEND', FENCE, string.sub(text, #KEPT + 1))
  end
  KEPT, IS_OURS = text, true
end
-- Stores a fence as the last one, and the hold that has it; `others` are held beside it, and all
-- of them end within `ms`.
local function keep(last, token, fence, ttl, label, till, others, ms)
  LAST = last
  HOLDS = table.concat({ others or '', token, ' ', fence, ' ', ttl, ' ', till or 0, ' ', label or '', ';' })
  save(math.max(ttl, ms or 0))
end
