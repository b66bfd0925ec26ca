-- Frees all names, whoever holds which of them and whatever they are stored as.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… as look.lua has them
-- ARGV  1 nonce
-- reply {1, nonce}  any was held
--       {0, nonce}  all were free
--
-- A repeat must not hit whoever was next.
--
-- needs     DONE HOLDER NAME RECEIPT each notify
local RECEIPT_MS = 30000
if DONE then return { tonumber(DONE), ARGV[1] } end
local held = 0
each(function()
  if redis.call('DEL', NAME) == 1 then
    held, HOLDER = 1, false
    notify()
  end
end)
redis.call('SET', RECEIPT, held, 'PX', RECEIPT_MS)
return { held, ARGV[1] }
