-- Shared: the lock's keys, which all scripts of a lock have in common.
--
-- provides  FENCE GONE NAME QUEUE RECEIPT
local NAME, RECEIPT, GONE, FENCE, QUEUE = unpack(KEYS, 1, 5)
