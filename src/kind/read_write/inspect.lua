-- Says who holds the lock and for how long, the last fence, how many wait, and, if readers share
-- it, who they are. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone · 7 readers · 8 holds
-- ARGV  1 nonce · 2 not used
-- reply {1, nonce, RESP of: the writer or nil, 1, ms left (-1: without end, -2: free), what FENCE
--                  is or nil, waiters, 0: as of a mutex;
--                  and if readers have it, an array of each one, ms left, and label}
--
-- needs     FENCE NAME QUEUE listed resp
local holder, readers = redis.call('GET', NAME), ''
if holder == 'readers' then
  holder, readers = false, resp(listed())
end
return { 1, ARGV[1], resp(holder) .. resp(1) .. resp(redis.call('PTTL', NAME)) .. resp(redis.call('GET', FENCE)) .. resp(redis.call('ZCARD', QUEUE)) .. resp(0) .. readers }
