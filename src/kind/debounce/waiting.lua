-- Shared: where the calls of a burst are, and Redis's time.
--
-- WAITING is a sorted set of the calls that are to go through, each with when it may, in ms by
-- Redis's clock. That is the last call of the burst that goes on, and those of bursts before it
-- that have not asked yet. `ends` is when the burst that goes on ends at most. Calls that were
-- overtaken are in it no more. RECEIPT is of one call: when it may go through, and then what it was
-- told.
--
-- provides  KNOWN_MS NOW_MS RECEIPT WAITING
local KNOWN_MS = 60000
local WAITING, RECEIPT = KEYS[1], KEYS[2]
local TIME = redis.call('TIME')
local NOW_MS = TIME[1] * 1000 + math.floor(TIME[2] / 1000)
