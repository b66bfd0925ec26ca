-- Frees the lock, whoever holds it and whatever it is stored as.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… those of the kind
-- ARGV  1 nonce
-- reply {1, nonce}  it was held
--       {0, nonce}  it was free
--
-- A repeat must not hit the next holder.
--
-- needs     DONE NAME RECEIPT delete notify
local RECEIPT_MS = 30000
if DONE then return { tonumber(DONE), ARGV[1] } end
local held = redis.call('EXISTS', NAME)
if held == 1 then
  delete()
  notify()
end
redis.call('SET', RECEIPT, held, 'PX', RECEIPT_MS)
return { held, ARGV[1] }
