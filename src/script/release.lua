-- Gives a held lock back, after the commands that may only run under it (commit).
--
-- KEYS  1 name · 2 receipt · 3… keys of the commands
-- ARGV  1 nonce · 2 token · 3 session · 4 number of the write · 5… commands
-- reply {1, nonce, results}  it was held, and is free now
--       {0, nonce}           lost: nothing ran
local reply = answered()
if reply then return reply end
if redis.pcall('GET', KEYS[1]) ~= ARGV[2] then return { 0, ARGV[1] } end
local results = run(5)
leave_receipt(results)
redis.call('DEL', KEYS[1])
return { 1, ARGV[1], results }
