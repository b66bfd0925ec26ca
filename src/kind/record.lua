-- What scripts of all locks share first: the keys, the record, Redis's time, fences.

--- keys
-- The lock's keys, which all scripts of a lock have in common.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… those of the kind, then keys of the
--       commands or reads
--
-- provides  FENCE GONE NAME QUEUE RECEIPT
local NAME, RECEIPT, GONE, FENCE, QUEUE = unpack(KEYS, 1, 5)

--- look
-- What the lock's keys have, as far as they are strings, by one command; and which key is the first
-- of the commands' own.
--
-- MGET says nothing of a key of another type. So whoever stores what it found missing does so with
-- NX. If that is refused, reading the key is the error WRONGTYPE.
--
-- provides  BEHIND DONE HOLDER KEPT NAMES WENT
-- needs     FENCE GONE NAME RECEIPT
local HOLDER, DONE, WENT, KEPT = unpack(redis.call('MGET', NAME, RECEIPT, GONE, FENCE))
local NAMES, BEHIND = { [NAME] = true }, 6

--- record
-- The record of a lock, which is at FENCE: 'v1 <last> <life> <holds>,<waiters>'. No part of it has
-- a comma, and no hold a semicolon.
--
-- Last is the last fence issued. Life is for how many ms the record outlasts a hold (`life`).
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
-- It lasts an eighth longer than it must. So it is seldom prolonged (`prolong`).
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

--- version
-- A record of another version is refused.
--
-- reply {-4, nonce}
--
-- needs     is_unknown
if is_unknown() then return { -4, ARGV[1] } end

--- life
-- For how long the record outlasts the hold: for as long as anybody asked for who took the lock or
-- waited for it, while the record is there. After that only Redis's clock makes fences grow.
--
-- ARGV  9 ms
--
-- needs     FENCE_MS
FENCE_MS = math.max(FENCE_MS, ARGV[9])

--- clock
-- Redis's time, which is asked for when it is first needed.
--
-- provides  integer now_ms now_us
local NOW_US
local function integer(number) return string.format('%.0f', number) end
local function now_us()
  if not NOW_US then
    local time = redis.call('TIME')
    NOW_US = time[1] * 1000000 + time[2]
  end
  return NOW_US
end
local function now_ms() return math.floor(now_us() / 1000) end

--- fence
-- Fences, which come from Redis's time. Each is higher than all before, even if Redis has forgotten
-- those.
--
-- provides  issue_fence next_fence
-- needs     LAST check_record integer keep now_us
local function next_fence()
  check_record()
  return integer(math.max((LAST or 0) + 1, now_us()))
end
local function issue_fence(token, ttl, label, till, others, ms)
  local fence = next_fence()
  keep(fence, token, fence, ttl, label, till, others, ms)
  return fence
end

--- prolong
-- Gives a key `ms` from now, unless it has more: a request that comes late must not shorten what a
-- later one gave. Returns what the key has then.
--
-- The expiry is written even if it does not change. So a wait for replicas behind this also waits
-- for what an earlier request wrote.
--
-- The record of a lock lasts longer than it must, and so need not be prolonged each time.
--
-- provides  prolong prolong_record
-- needs     FENCE FENCE_MS IS_OURS longest_life
local function prolong(key, ms)
  local left = math.max(redis.call('PTTL', key), tonumber(ms))
  redis.call('PEXPIRE', key, left)
  return left
end
local function prolong_record(ms)
  if IS_OURS and redis.call('PTTL', FENCE) < FENCE_MS + ms then redis.call('PEXPIRE', FENCE, longest_life() + ms) end
end

--- take
-- Takes the name, and has the hold stored. What another program keeps under either key, in another
-- type, is told and stays; then neither is done. A record that is there is a string, so it is
-- stored last. A new one is stored first, and undone, with another key that the hold may need.
--
-- provides  take
-- needs     FENCE HOLDER KEPT NAME check_record prolong
local function take(token, ms, store, other)
  check_record()
  local kept = KEPT
  if not kept then store() end
  if HOLDER == token then
    prolong(NAME, ms)
  elseif not redis.call('SET', NAME, token, 'NX', 'PX', ms) then
    if not kept then redis.call('DEL', FENCE, other or FENCE) end
    redis.call('GET', NAME)
  end
  HOLDER = token
  if kept then store() end
end

--- told
-- What an inspection tells of the record: the last fence, and the holds. Of another program's it
-- tells nothing; of another type it is an error.
--
-- provides  known
-- needs     FENCE HOLDS KEPT LAST
local function known()
  if not KEPT then redis.call('GET', FENCE) end
  return LAST and LAST .. ' ' .. HOLDS
end
