-- Once: the record lasts no longer than a minute behind the hold, since most keys are used once.
-- What a lock of the same name has left lasts as long as it would, and the hold.
--
-- needs     FENCE FENCE_MS KEPT
local LEAST_MS = 53000
FENCE_MS = KEPT and math.max(LEAST_MS, math.floor(redis.call('PTTL', FENCE) * 8 / 9)) or LEAST_MS
