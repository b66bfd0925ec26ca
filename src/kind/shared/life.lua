-- Shared: for how long the record outlasts the hold: for as long as anybody asked for who took the
-- lock or waited for it, while the record is there. After that only Redis's clock makes fences
-- grow.
--
-- ARGV  9 ms
--
-- needs     FENCE_MS
FENCE_MS = math.max(FENCE_MS, ARGV[9])
