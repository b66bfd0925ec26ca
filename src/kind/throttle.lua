-- `Client::throttle(name, window)`: a call passes if no window lasts, and begins one.
-- - A repeat of a call that passed is told so by its receipt, even if its window is over and
--   another call passed since. A call that was refused leaves nothing behind, since a throttle may
--   refuse thousands a second. So its repeat may pass.
-- - What another program keeps in place of the window is told (`wrong_type`) and left alone, if it
--   has another type or never ends. A string that ends counts as a window.
-- - An unknown outcome is an error: the caller counts as not passed. In the background it gives
--   back what it may have. Its window ends, and a request of it that arrives later is refused for
--   60 s. A call that was dropped does the same. So does a call that was refused although an
--   earlier request of it may still arrive. If the request that gives back is lost too, nobody
--   passes until the window is over.
-- - If Redis's clock is set back, the window lasts longer by as much.
-- - What is not prevented: the network may deliver a refused request once more when the window is
--   over. That begins a window that nobody uses.
--
-- kind  throttle
--
-- script pass: pass
-- script give_back: give_back

--- pass
-- Lets a call through if none was for as long as its window, or says for how long that lasts.
--
-- KEYS  1 throttle · 2 receipt
-- ARGV  1 nonce · 2 token · 3 window in ms
-- reply {1, nonce}      it passed
--       {0, nonce, ms}  another did, and the window ends after that long
--       {-1, nonce}     it was given back: a straggler
--
-- A repeat of a call that passed is told the same, also when its window is over and another passed
-- since.
local RECEIPT_MS = 30000
local last, before = unpack(redis.call('MGET', KEYS[1], KEYS[2]))
if before then return { tonumber(before), ARGV[1] } end
if last then
  local left = redis.call('PTTL', KEYS[1])
  -- What never ends is none of ours, and stays. Of a string this is the error WRONGTYPE.
  if left == -1 then redis.call('ZCARD', KEYS[1]) end
  return { 0, ARGV[1], math.max(left, 1) }
end
-- So is what has another type, of which MGET says nothing.
if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then redis.call('GET', KEYS[1]) end
redis.call('SET', KEYS[2], '1', 'PX', RECEIPT_MS)
return { 1, ARGV[1] }

--- give_back
-- Gives up a call, whatever became of it: the window that it began is over, and a pass that arrives
-- late is refused.
--
-- KEYS  1 throttle · 2 receipt
-- ARGV  1 nonce · 2 token
-- reply {1, nonce}  it had passed
--       {0, nonce}  it had not
local GONE_MS = 60000
local passed = redis.pcall('GET', KEYS[1]) == ARGV[2]
if passed then redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[2], '-1', 'PX', GONE_MS)
return { passed and 1 or 0, ARGV[1] }
