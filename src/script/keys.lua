-- Shared: where each script that is about a lock finds the lock's keys.
local NAME, RECEIPT, FENCE, QUEUE, ALIVE, GONE = unpack(KEYS, 1, 6)
