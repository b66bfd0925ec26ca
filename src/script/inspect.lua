-- Says who holds the lock, for how long, and the last fence. Changes nothing.
--
-- KEYS  1 name · 2 fence
-- ARGV  1 nonce
-- reply {1, nonce, RESP of: holder's token or nil, ms left (-1: without end, -2: free), last fence or nil}
return { 1, ARGV[1], resp(redis.call('GET', KEYS[1])) .. resp(redis.call('PTTL', KEYS[1])) .. resp(redis.call('GET', KEYS[2])) }
