-- Shared: where the calls of a burst are, and Redis's time.
--
-- WAITING is 'v1 <ends> <till> <calls>': when the burst that goes on ends at most; until when
-- something is known of a call of it; and the calls that are to go through, each as '<at>
-- <token>;', with when it may, and a '!' behind the token once it was told so. All times are ms by
-- Redis's clock. The calls are the last one of the burst that goes on, and those of bursts before
-- it of which something is known yet. Calls that were overtaken are in it no more. RECEIPT is of
-- one call: 'at <at>', 0 once it was told that it was overtaken, or -1 once it was given up.
--
-- reply {-4, nonce}  another version of this library has stored it
--
-- provides  BEFORE CALLS ENDS KNOWN_MS NOW_MS RECEIPT STORED TILL WAITING
local KNOWN_MS = 60000
local WAITING, RECEIPT = KEYS[1], KEYS[2]
local STORED, BEFORE = unpack(redis.call('MGET', WAITING, RECEIPT))
local ENDS, TILL, CALLS = string.match(STORED or '', '^v1 (%d+) (%d+) (.*)$')
if STORED and not ENDS then
  if string.find(STORED, '^v%d+ ') then return { -4, ARGV[1] } end
  -- What another program keeps there stays. Of a string this is the error WRONGTYPE.
  redis.call('ZCARD', WAITING)
end
local TIME = redis.call('TIME')
local NOW_MS = TIME[1] * 1000 + math.floor(TIME[2] / 1000)
