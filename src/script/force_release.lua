-- Frees the lock, whoever holds it and whatever it is stored as.
--
-- KEYS  1 name
-- ARGV  1 nonce
-- reply {1, nonce}  it was held
--       {0, nonce}  it was free
return { redis.call('DEL', KEYS[1]), ARGV[1] }
