-- Shared: where the calls of a burst are, and Redis's time.
--
-- `Client::debounce(name, wait)`: a call arrives, waits, and asks whether it goes through.
-- - A burst begins with a call that comes while no call waits. A call goes through `wait` after it
--   came, but no later than the end of the burst, which is `max_wait` after its first call. A call
--   that comes before that time takes its place.
-- - A call whose time has come is not overtaken any more, whether it has asked or not. Otherwise
--   none would go through if calls come faster than answers. The next call begins a burst.
-- - A repeat counts as arriving when the first request did. The receipt tells it what the first was
--   told. An arrival whose call is already over, or given up, overtakes nobody.
-- - Too early: a client's clock may run fast. A call that asks too early is told how long it still
--   has to wait. After ten times that is an error, since a host's timers may end at once.
-- - Redis's clock is set back: a call that has waited by its own clock, and is told to wait for
--   longer than clocks drift, says so. Then it goes through, unless it was overtaken. The next call
--   has the burst end by its own `max_wait` at the latest.
-- - Not known: a call that asks over a minute too late, or asks a Redis that lost its data, is told
--   so. Its outcome is unknown: it may have overtaken others, and it did not go through.
-- - A last call that dies, or is dropped, while it waits: the calls that it overtook may have been
--   told already. So nobody does their work until the next call comes.
--
-- WAITING is 'v1 <ends> <till> <calls>': when the burst that goes on ends at most; until when
-- something is known of a call of it; and the calls that are to go through, each as '<at>
-- <token>;', with when it may, and a '!' behind the token once it was told so. All times are ms by
-- Redis's clock. The calls are the last one of the burst that goes on, and those of bursts before
-- it of which something is known yet: 50 bytes for each burst of a minute, without a bound. Calls
-- that were overtaken are in it no more. RECEIPT is of one call: 'at <at>', 0 once it was told that
-- it was overtaken, or -1 once it was given up.
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
