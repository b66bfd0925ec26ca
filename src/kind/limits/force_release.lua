-- Frees all permits of all names, whoever has them and whatever the names are stored as.
--
-- KEYS  as look.lua has them
-- ARGV  1 nonce
-- reply {1, nonce}  any was held
--       {0, nonce}  all were free
--
-- A repeat must not hit whoever was next.
--
-- ends      the loop
-- needs     DONE FENCE NAME RECEIPT all delete notify place
all[place] = place
if not DONE and redis.call('EXISTS', NAME) == 1 then
  all.held = 1
  delete()
  redis.pcall('PUBLISH', string.sub(FENCE, 1, -6) .. 'lost', '0')
  notify()
end
end
if DONE then return { tonumber(DONE), ARGV[1] } end
redis.call('SET', RECEIPT, all.held or 0, 'PX', 30000)
return { all.held or 0, ARGV[1] }
