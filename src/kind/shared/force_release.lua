-- Frees the lock, whoever holds it and whatever it is stored as.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… those of the kind
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
