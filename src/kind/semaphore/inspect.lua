-- Says who holds permits, each for how long, the last fence, how many wait, and how many permits
-- are free. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · 7 holds
-- ARGV  1 nonce · 2 how many permits there are
-- reply {1, nonce, RESP of: nil, 0, -2, what FENCE is or nil, waiters, 0: all as of a lock that is
--                  free;
--                  an array of each holder, ms left, and label; and how many permits are free}
--
-- needs     FENCE QUEUE listed refuse_others resp
refuse_others()
local holders = listed()
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(redis.call('GET', FENCE)) .. resp(redis.call('ZCARD', QUEUE)) .. resp(0) .. resp(holders) .. resp(math.max(0, ARGV[2] - #holders)) }
