-- Gives a held lock its ttl again, unless it has more, and runs commands that may only run under it
-- (exec).
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… those of the kind, then keys of the
--       commands
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
