-- Gives a held lock back, after the commands that may only run under it (commit).
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · 7… those of the kind, then keys
--       of the commands
-- ARGV  1 nonce · 2 token, or owner · 3 session · 4 number of the write · 5 fence of the hold, 0 if
--       the lease does not know it, and without commands · 6… commands
-- reply {1, nonce, results}  it was held, and is no longer
--       {0, nonce}           lost: nothing ran
--       {-1, nonce}          it ran before, and its reply is not known any more
--
-- needs     RECEIPT RECEIPT_MS acquired is_another is_held leave_receipt lost release_one replay
-- needs     run
local reply = replay()
if reply then return reply end
if not is_held() then return lost() end
if is_another(acquired()) then
  release_one()
  return lost()
end
-- A full Redis refuses what needs memory until a script has written something else. Of several
-- commands it would refuse some, and run those behind them.
redis.call('PEXPIRE', RECEIPT, RECEIPT_MS)
local results = run(6)
-- The commands may have broken what the release stumbles over. A repeat must not run them again.
leave_receipt(results, RECEIPT_MS)
release_one()
return { 1, ARGV[1], results }
