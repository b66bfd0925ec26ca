-- Shared: the lock's keys, which all scripts of a lock have in common, and how long the last fence
-- is kept.
--
-- provides  ALIVE FENCE FENCE_MS GONE NAME QUEUE RECEIPT
local FENCE_MS = 604800000
local NAME, RECEIPT, FENCE, QUEUE, ALIVE, GONE = unpack(KEYS, 1, 6)
