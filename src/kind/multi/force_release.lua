-- Frees all names, whoever holds which of them and whatever they are stored as.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · 7… as names.lua has them
-- ARGV  1 nonce
-- reply {1, nonce}  any was held
--       {0, nonce}  all were free
--
-- A repeat must not hit whoever was next.
--
-- needs     NAME RECEIPT delete each
local RECEIPT_MS = 30000
local before = redis.call('GET', RECEIPT)
if before then return { tonumber(before), ARGV[1] } end
local held = 0
each(function()
  if redis.call('EXISTS', NAME) == 1 then
    held = 1
    delete()
  end
end)
redis.call('SET', RECEIPT, held, 'PX', RECEIPT_MS)
return { held, ARGV[1] }
