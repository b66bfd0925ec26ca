-- A mutex: a string at the name that holds its holder's token, as other libraries lock it.
--
-- kind  mutex
--
-- script acquire: version life if_contended wait acquire
-- script renew: version renew
-- script release: version release if_waited_for pass_on reply
-- script abandon: abandon if_waited_for leave_queue pass_on reply
-- script inspect: version inspect
-- script force_release: force_release if_waited_for pass_on reply
-- script turn: version life turn
-- script handed_turn: version life handed_turn if_waited_for pass_on reply

--- storage
-- A lock as a string that holds its holder's token.
--
-- provides  delete free holder_and_count is_held
-- needs     HOLDER NAME
local function is_held() return HOLDER == ARGV[2] end
local function holder_and_count() return redis.call('GET', NAME), 1 end
local function free()
  redis.call('DEL', NAME)
  HOLDER = false
end
local delete = free

--- if_contended
-- A straggler is told so. Then begins what is done only if another holds the lock, or somebody
-- waits (as in `if_waited_for`).
--
-- provides  mine
-- begins    a branch
-- needs     DONE HOLDER WAITERS WENT
local mine = HOLDER == ARGV[2]
if not mine and (WENT or DONE) then return { -1, ARGV[1] } end
if WAITERS ~= '' or HOLDER and not mine then

--- wait
-- Whoever cannot have the lock yet is told why, and joins the queue; whoever can leaves it. Ends
-- what `if_contended` began.
--
-- ends      the branch
-- needs     HOLDER NAME WAITER head hold_of liveness_left mine refuse remove_waiter
if HOLDER and not mine then return refuse(redis.call('PTTL', NAME), select(4, hold_of(HOLDER))) end
local first = not mine and string.find(ARGV[6], 'f') and head()
if first and first ~= WAITER then return refuse(liveness_left(first)) end
remove_waiter(WAITER)
end

--- acquire
-- Takes the lock, or says how long its holder has left, and joins the queue.
--
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive ·
--       5 waiter, empty not to wait · 6 f to wait for its turn, b to barge; behind that r to get
--       the results in any case · 7 label · 8 not used · 9 as in `life` · 10… reads
-- reply {1, nonce, fence, results}    held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results}  held by another for that long (-1: without
--                                     end), or free for the first waiter; how many wait ahead;
--                                     Redis's time in microseconds; the holder's label; results
--                                     only if asked for
--       {-1, nonce}                   this token was abandoned, or has already ended: a straggler
--
-- Asking again with the same token is harmless: it gets the same fence, the full ttl and the same
-- place. If it paused for so long that it counted as dead, it gets the last place.
--
-- needs     extend hold_of issue_fence mine run save take
local fence = mine and hold_of(ARGV[2])
if fence then
  extend(ARGV[3])
  save()
else
  take(ARGV[2], ARGV[3], function() fence = issue_fence(ARGV[2], ARGV[3], ARGV[7]) end)
end
return { 1, ARGV[1], fence, run(10) }

--- extend
-- How the hold of a mutex goes on. Returns how long it lasts.
--
-- provides  extend
-- needs     NAME prolong prolong_record
local function extend(ms)
  local left = prolong(NAME, ms)
  prolong_record(ms)
  return left
end

--- left
-- What the next holder is told of beside the lock: reads at the end of the commands, and what they
-- found. It need not read that once more. The line breaks of RESP stand as %n. A client reads lines
-- of 4,096 bytes, in which the channel has up to 600.
--
-- provides  LEFT run_last
-- needs     ROOM resp run
local LEFT = ''
-- As `run`. ARGV[tell…] are such reads, if there are any.
local function run_last(at, tell)
  if not tell then return run(at) end
  local results = run(at, tell)
  local found = run(tell, nil, ROOM)
  LEFT = ' ' .. string.gsub(resp({ unpack(ARGV, tell) }) .. found, string.char(13, 10), '%%n')
  if #LEFT > 3400 then LEFT = '' end
  return results .. found
end

--- hand_over
-- Gives the lock, which is free now, to the first waiter that is alive and hears of it, or to one
-- that was overtaken for too long (`hearing`).
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
-- needs     HOLDER LEFT NAME gather in_order insists integer is_told_first issue_fence listens
-- needs     liveness_left may_be_overtaken now_us remove_waiter
-- Whoever listens elsewhere hears of a lock that is kept for less than its ttl too, and must ask
-- for it.
local function give(waiter, most)
  local token, ms, want, ttl, label, channel = string.match(waiter, '^v1 (%S+) (%d+) %l(%S*) (%d+) (%S*) (.*)$')
  if not redis.call('SET', NAME, token, 'NX', 'PX', integer(math.min(ms, most))) then return end
  HOLDER = token
  remove_waiter(waiter)
  local fence = issue_fence(token, ttl, label)
  local told = want == '' and tonumber(ms) <= most and fence .. ' ' .. integer(now_us()) .. LEFT or '1'
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

--- guess
-- What turns of one request have in common. They run commands only if reads find what the caller
-- expects.
--
-- No copy of a request that ran nothing runs commands when it comes late: that left a mark. The
-- time until which the commands may run is told by a client's clock, so it does not do for that.
--
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 what the reads find, as `resp` has it · 5 where in
--       ARGV the commands begin · 6 until when they may run, in Redis's us · 7 label · 8 set if it
--       is to take the lock · 9 as in `life` · 10 as 6 of `release` · 11… reads, then commands
-- reply {2, nonce, fence, results}  the commands ran, under this fence; without commands the reads
--                                   found that, and it is Redis's time
--       {1, nonce, fence, found}    held by this token, with the full ttl; what the reads found
--       {3, nonce, us, found}       what the reads found at this time: nothing ran
--       {0, nonce}                  another has the lock, or waits for it: nothing ran
--       {-1, nonce}                 a straggler, or the lock is lost: nothing ran
--
-- provides  RAN_MS answered expects mark ran
-- needs     DONE GONE RECEIPT WENT now_us run
local RAN_MS = 30000
local function answered()
  local fence, results = string.match(DONE or '', '^ran (%d+) (.*)$')
  if fence then return { 2, ARGV[1], fence, results } end
  if WENT or DONE then return { -1, ARGV[1] } end
end
local function mark() redis.call('SET', GONE, '', 'PX', 60000) end
-- Whether the commands may run, what the reads found, and where the commands begin.
local function expects()
  local behind = tonumber(ARGV[5])
  local found = run(11, behind)
  local left_us = tonumber(ARGV[6]) - now_us()
  return found == ARGV[4] and left_us > 0 and left_us < RAN_MS * 1000, found, behind
end
-- The commands may have broken what follows. A repeat must not run them again.
local function ran(fence, results)
  redis.call('SET', RECEIPT, table.concat({ 'ran', fence, results }, ' '), 'PX', RAN_MS)
  return { 2, ARGV[1], fence, results }
end

--- turn
-- Runs commands as if under the lock, without taking it: if nobody has it or waits for it, and the
-- reads find what the caller expects. If they find something else, it tells that, and takes the
-- lock if it is to; the caller decides anew.
--
-- needs     HOLDER NAME RAN_MS WAITERS answered expects extend hold_of integer issue_fence
-- needs     mark now_us ran run save take
local mine = HOLDER == ARGV[2]
if not mine then
  local reply = answered()
  if reply then return reply end
  -- MGET does not find a name of another type.
  if HOLDER or WAITERS ~= '' or redis.call('EXISTS', NAME) == 1 then
    mark()
    return { 0, ARGV[1] }
  end
end
local is_right, found, behind = expects()
if not mine and is_right then
  -- A full Redis refuses the fence, before anything has run.
  local fence = ARGV[behind] and issue_fence(ARGV[2], RAN_MS, ARGV[7]) or integer(now_us())
  return ran(fence, run(behind))
end
local fence = mine and hold_of(ARGV[2])
if fence then
  extend(ARGV[3])
  save()
else
  mark()
  if ARGV[8] == '' then return { 3, ARGV[1], integer(now_us()), found } end
  take(ARGV[2], ARGV[3], function() fence = issue_fence(ARGV[2], ARGV[3], ARGV[7]) end)
end
return { 1, ARGV[1], fence, found }

--- handed_turn
-- The same under the lock, which was handed over with what its last holder left. Gives it on, if
-- the commands ran.
--
-- provides  reply
-- needs     HOLDER WENT answered expects extend free free_again hold_of mark ran run_last save
if HOLDER ~= ARGV[2] then return answered() or { -1, ARGV[1] } end
local is_right, found, behind = expects()
local fence = hold_of(ARGV[2]) or '0'
if WENT or not is_right then
  mark()
  extend(ARGV[3])
  save()
  return { 1, ARGV[1], fence, found }
end
-- First, as in `release`.
free()
local reply = ran(fence, run_last(behind, tonumber(ARGV[10])))
free_again()
