-- Runs commands as if under the lock, without taking it: if nobody has it or waits for it, and the
-- reads find what the caller expects. If they find something else, it tells that, and takes the
-- lock if it is to; the caller decides anew.
--
-- No copy of the request runs commands then that comes late: it left a mark. The time until which
-- the commands may run is told by a client's clock, so it does not do for that.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… those of the kind, then keys of the
--       reads and of the commands
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 what the reads find, as resp.lua has it · 5 where in
--       ARGV the commands begin · 6 until when they may run, in Redis's us · 7 label · 8 set if it
--       is to take the lock · 9 as in life.lua · 10… reads, then commands
-- reply {2, nonce, fence, results}  the commands ran, under this fence; without commands the reads
--                                   found that, and it is Redis's time
--       {1, nonce, fence, found}    held by this token, with the full ttl; what the reads found
--       {3, nonce, us, found}       what the reads found at this time: nothing ran
--       {0, nonce}                  another has the lock, or waits for it: nothing ran
--       {-1, nonce}                 a straggler: nothing ran
--
-- needs     DONE GONE HOLDER NAME RECEIPT WAITERS WENT extend hold_of integer issue_fence now_us
-- needs     run save take
local RECEIPT_MS = 30000
local mine = HOLDER == ARGV[2]
if not mine then
  local ran, results = string.match(DONE or '', '^ran (%d+) (.*)$')
  if ran then return { 2, ARGV[1], ran, results } end
  if WENT or DONE then return { -1, ARGV[1] } end
  -- MGET does not find a name of another type.
  if HOLDER or WAITERS ~= '' or redis.call('EXISTS', NAME) == 1 then
    redis.call('SET', GONE, '', 'PX', 60000)
    return { 0, ARGV[1] }
  end
end
local behind = tonumber(ARGV[5])
local found = run(10, behind)
local left_us = tonumber(ARGV[6]) - now_us()
if not mine and found == ARGV[4] and left_us > 0 and left_us < RECEIPT_MS * 1000 then
  -- A full Redis refuses the fence, before anything has run.
  local fence = ARGV[behind] and issue_fence(ARGV[2], RECEIPT_MS, ARGV[7]) or integer(now_us())
  local results = run(behind)
  -- The commands may have broken what follows. A repeat must not run them again.
  redis.call('SET', RECEIPT, table.concat({ 'ran', fence, results }, ' '), 'PX', RECEIPT_MS)
  return { 2, ARGV[1], fence, results }
end
local fence = mine and hold_of(ARGV[2])
if fence then
  extend(ARGV[3])
  save()
else
  redis.call('SET', GONE, '', 'PX', 60000)
  if ARGV[8] == '' then return { 3, ARGV[1], integer(now_us()), found } end
  take(ARGV[2], ARGV[3], function() fence = issue_fence(ARGV[2], ARGV[3], ARGV[7]) end)
end
return { 1, ARGV[1], fence, found }
