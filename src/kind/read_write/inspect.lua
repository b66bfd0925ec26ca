-- Says who holds the lock and for how long, the last fence, how many wait, and, if readers share
-- it, who they are. Changes nothing.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue
-- ARGV  1 nonce · 2 not used
-- reply {1, nonce, RESP of: the writer or nil, 1, ms left (-1: without end, -2: free), the last
--                  fence and holds or nil, waiters, 0: as of a mutex;
--                  and if readers have it, an array of each one, ms left, and label}
--
-- needs     NAME hold_of known listed now_ms resp says till waiting
local holder, readers = redis.call('GET', NAME), ''
if says('readers') then
  holder, readers = false, listed()
  for at, token in ipairs(readers) do readers[at] = { token, till[token] - now_ms(), select(4, hold_of(token)) } end
  readers = resp(readers)
end
return { 1, ARGV[1], resp(holder) .. resp(1) .. resp(redis.call('PTTL', NAME)) .. resp(known()) .. resp(waiting()) .. resp(0) .. readers }
