-- What is done with a lock, however its kind stores it, and the receipts of that.

--- receipt
-- A write leaves a receipt, "<session> <number> <earlier> <results>". So a repeat is answered, and
-- not run again. Earlier are the sessions that wrote before, each with its last number: what they
-- sent may still be on its way. The receipt lives while the client counts on it, and as long as the
-- lock, so that nothing that comes late runs twice.
--
-- provides  NUMBER RECEIPT_MS leave_receipt replay
-- needs     DONE RECEIPT
local SESSION, NUMBER = ARGV[3], tonumber(ARGV[4])
local RECEIPT_MS = 30000
local session, number, earlier, results
-- The reply if nothing is to run: the first reply for a repeat; "lost" for a straggler that a later
-- write overtook. The receipt of a repeat may have been replaced by a later session's write. Then
-- the reply says that it ran, and that it is not lost.
local function replay()
  session, number, earlier, results = string.match(DONE or '', '^(%S+) (%d+) (%S*) (.*)$')
  if session == SESSION then
    if tonumber(number) == NUMBER then
      -- Written again, so that a wait for replicas behind this waits for what the first request
      -- wrote.
      redis.pcall('PEXPIRE', RECEIPT, math.max(RECEIPT_MS, redis.call('PTTL', RECEIPT)))
      return { 1, ARGV[1], results }
    end
    if tonumber(number) > NUMBER then return { 0, ARGV[1] } end
  end
  for name, last in string.gmatch(earlier or '', '([^:,]+):(%d+)') do
    if name == SESSION and tonumber(last) >= NUMBER then return { tonumber(last) > NUMBER and 0 or -1, ARGV[1] } end
  end
end
local function leave_receipt(results, ms)
  -- Only the latest of many: 200 bytes hold a dozen.
  if session and session ~= SESSION then earlier = string.sub(session .. ':' .. number .. ',' .. earlier, 1, 200) end
  redis.call('SET', RECEIPT, table.concat({ SESSION, ARGV[4], earlier or '', results }, ' '), 'PX', ms)
end

--- acquired
-- The fence, ttl and label of a mutex's hold, if they are known.
--
-- provides  acquired
-- needs     hold_of
local function acquired() return hold_of(ARGV[2]) end

--- another
-- Whether this fence is that of another hold than the lease's. A lease that knows no fence says 0.
--
-- An acquire that arrives when its own hold is over takes the lock once more, with the same token.
-- What was decided in the first hold must not run in the second, since others may have had the lock
-- in between.
--
-- provides  is_another
local function is_another(fence) return ARGV[5] ~= '0' and fence and fence ~= ARGV[5] end

--- lost
-- The reply if the lock is not this token's any more. An acquire of it that arrives late must not
-- take the lock again.
--
-- A server that writes nothing now can reply so nevertheless. A mark that a quorum's release has
-- left stays.
--
-- provides  lost
-- needs     GONE save
local function lost()
  redis.pcall('SET', GONE, '', 'PX', 60000, 'NX')
  pcall(save)
  return { 0, ARGV[1] }
end

--- renew
-- Gives a held lock its ttl again, unless it has more, and runs commands that may only run under it
-- (exec).
--
-- ARGV  1 nonce · 2 token, or owner · 3 session · 4 number of the write, 0 without commands ·
--       5 fence of the hold, 0 if the lease does not know it · 6 ttl in ms · 7 told, or empty for
--       the hold's own ttl, if that is known · 8… commands
-- reply {1, nonce, '<fence> <ms> <results>'}  held, for at least that long; the hold's fence, 0 if
--                                             that is not known
--       {0, nonce}                            lost
--       {-1, nonce}                           it ran before, and its reply is not known any more
--
-- needs     DONE NUMBER RECEIPT RECEIPT_MS acquired extend is_another is_held leave_receipt lost
-- needs     replay run
if NUMBER > 0 then
  local reply = replay()
  if reply then return reply end
end
if not is_held() then return lost() end
local fence, ttl = acquired()
if is_another(fence) then return lost() end
local ms = ARGV[7] == '' and ttl or ARGV[6]
local life = math.max(RECEIPT_MS, extend(ms))
local results = table.concat({ fence or 0, ms, run(8) }, ' ')
if NUMBER > 0 then leave_receipt(results, life) elseif DONE then redis.call('PEXPIRE', RECEIPT, life) end
return { 1, ARGV[1], results }

--- run_last
-- Runs the commands behind which the lock is free.
--
-- provides  run_last
-- needs     run
local function run_last(at) return run(at) end

--- free_again
-- Commands may have written a key of the lock, too.
--
-- provides  free_again
-- needs     BEHIND NAMES free
local function free_again()
  for at = BEHIND, #KEYS do
    if NAMES[KEYS[at]] then return free() end
  end
end

--- release
-- Gives a held lock back, after the commands that may only run under it (commit).
--
-- ARGV  1 nonce · 2 token, or owner · 3 session · 4 number of the write · 5 fence of the hold, 0 if
--       the lease does not know it, and without commands · 6 where in ARGV the reads begin of which
--       the next holder is told, or empty · 7… commands
-- reply {1, nonce, results}  it was held, and is no longer
--       {0, nonce}           lost: nothing ran
--       {-1, nonce}          it ran before, and its reply is not known any more
--
-- provides  reply
-- needs     RECEIPT_MS acquired free free_again is_another is_held leave_receipt lost replay
-- needs     run_last
local reply = replay()
if reply then return reply end
if not is_held() then return lost() end
-- A full Redis refuses what needs memory until a script has written something else. Of several
-- commands it would refuse some, and run those behind them. So the lock is freed first; until the
-- script is over, nobody sees that.
local is_over = is_another(acquired())
free()
if is_over then
  reply = lost()
else
  reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }
  -- The commands may have broken what follows. A repeat must not run them again.
  leave_receipt(reply[3], RECEIPT_MS)
  free_again()
end

--- abandon
-- Gives up an acquisition whose outcome may be unknown. An acquire that arrives late is refused,
-- and the waiter leaves the queue.
--
-- ARGV  1 nonce · 2 token, or owner · 3 waiter, empty if it did not wait
-- reply {1, nonce, ''}  it was held, and is no longer
--       {0, nonce}      it was not held
--
-- provides  reply
-- needs     GONE free is_held
local GONE_MS = 60000
-- A full Redis refuses what needs memory until a script has written something else.
redis.call('PEXPIRE', GONE, GONE_MS)
local held = is_held()
if held then free() end
redis.call('SET', GONE, '', 'PX', GONE_MS)
-- It may have been kept free for this waiter. Then it is the next one's turn.
local reply = held and { 1, ARGV[1], '' } or { 0, ARGV[1] }

--- inspect
-- Says who holds the lock, how often, for how long, what is known of the hold, how many wait, and
-- whether this server has a say. Changes nothing.
--
-- ARGV  1 nonce · 2 ms for which this server must have been up to have a say, in a quorum
-- reply {1, nonce, RESP of: holder or nil, count, ms left (-1: without end, -2: free),
--                    the last fence and holds as `record` has them or nil, waiters,
--                    ms for which it has no say yet}
--
-- needs     NAME holder_and_count known missing_uptime resp waiting
local holder, count = holder_and_count()
return { 1, ARGV[1], resp(holder) .. resp(count) .. resp(redis.call('PTTL', NAME)) .. resp(known()) .. resp(waiting()) .. resp(missing_uptime(ARGV[2])) }

--- alone
-- A server that is alone always has a say.
--
-- provides  missing_uptime
local function missing_uptime() return 0 end

--- force_release
-- Frees the lock, whoever holds it and whatever it is stored as.
--
-- ARGV  1 nonce
-- reply {1, nonce}  it was held
--       {0, nonce}  it was free
--
-- A repeat must not hit the next holder. Holders that listen are told to look whether they still
-- have it.
--
-- provides  reply
-- needs     DONE FENCE NAME RECEIPT delete
local RECEIPT_MS = 30000
if DONE then return { tonumber(DONE), ARGV[1] } end
local reply = { redis.call('EXISTS', NAME), ARGV[1] }
if reply[1] == 1 then
  delete()
  redis.pcall('PUBLISH', string.sub(FENCE, 1, -6) .. 'lost', '0')
end
redis.call('SET', RECEIPT, reply[1], 'PX', RECEIPT_MS)
if reply[1] == 0 then return reply end

--- reply
-- The end of a script that has made its reply.
--
-- needs     reply save
pcall(save)
return reply
