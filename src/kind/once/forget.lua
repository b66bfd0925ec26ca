-- Forgets what is kept of work that was executed once, unless the work is being done: its result
-- would be kept behind this.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6 the result
-- ARGV  1 nonce
-- reply {1, nonce}             it was kept
--       {0, nonce}             nothing was
--       {2, nonce, ms, label}  the work is being done; how long its lock is left (-1: without end),
--                              and the holder's label
--
-- A repeat must not forget the next result.
--
-- needs     DONE HOLDER NAME RECEIPT hold_of
local RECEIPT_MS = 30000
if DONE then return { tonumber(DONE), ARGV[1] } end
-- Of another type it is an error.
if HOLDER or redis.call('GET', NAME) then
  return { 2, ARGV[1], redis.call('PTTL', NAME), select(4, hold_of(HOLDER)) or '' }
end
local kept = redis.call('DEL', KEYS[6])
redis.call('SET', RECEIPT, kept, 'PX', RECEIPT_MS)
return { kept, ARGV[1] }
