-- Runs commands that only read, as one.
--
-- KEYS  1… keys of the reads
-- ARGV  1 nonce · 2… reads
-- reply {1, nonce, results}
--
-- needs     run
return { 1, ARGV[1], run(2) }
