-- Frees the lock, whoever holds it and whatever it is stored as.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive
-- ARGV  1 nonce
-- reply {1, nonce}  it was held
--       {0, nonce}  it was free
--
-- A repeat must not hit the next holder.
--
-- needs     NAME RECEIPT delete
local RECEIPT_MS = 30000
local before = redis.call('GET', RECEIPT)
if before then return { tonumber(before), ARGV[1] } end
local held = redis.call('EXISTS', NAME)
if held == 1 then delete() end
redis.call('SET', RECEIPT, held, 'PX', RECEIPT_MS)
return { held, ARGV[1] }
