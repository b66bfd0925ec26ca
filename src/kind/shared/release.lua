-- Gives a held lock back, after the commands that may only run under it (commit).
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… those of the kind, then keys of the
--       commands
-- ARGV  1 nonce · 2 token, or owner · 3 session · 4 number of the write · 5 fence of the hold, 0 if
--       the lease does not know it, and without commands · 6… commands
-- reply {1, nonce, results}  it was held, and is no longer
--       {0, nonce}           lost: nothing ran
--       {-1, nonce}          it ran before, and its reply is not known any more
--
-- provides  reply
-- needs     BEHIND NAMES RECEIPT_MS acquired free is_another is_held leave_receipt lost replay run
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
  reply = { 1, ARGV[1], run(6) }
  -- The commands may have broken what follows. A repeat must not run them again.
  leave_receipt(reply[3], RECEIPT_MS)
  -- They may have written a key of the lock, too.
  local is_touched = false
  for at = BEHIND, #KEYS do is_touched = is_touched or NAMES[KEYS[at]] end
  if is_touched then free() end
end
