-- Shared: where each script that is about a lock finds the lock's keys; and for how long the last fence is kept.
--
-- provides  ALIVE FENCE FENCE_MS GONE NAME QUEUE RECEIPT
local FENCE_MS = 604800000
local NAME, RECEIPT, FENCE, QUEUE, ALIVE, GONE = unpack(KEYS, 1, 6)
