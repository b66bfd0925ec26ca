-- Makes a reader of the writer, in the same hold. Nobody else writes in between, and others may
-- read from now on. Asking again renews a reader.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue
-- ARGV  1 nonce · 2 token · 3 session · 4 not used · 5 fence of the hold, 0 if the lease does not
--       know it · 6 ttl in ms · 7 told, or empty for the hold's own ttl, if that is known
-- reply {1, nonce, '<fence> <ms> '}  it reads, for at least that long; the hold's fence, 0 if that
--                                    is not known
--       {0, nonce}                   lost
--
-- provides  reply
-- needs     DONE RECEIPT acquired extend is_another is_held lost prolong
local fence, ttl = acquired()
if not is_held() or is_another(fence) then return lost() end
local ms = ARGV[7] == '' and ttl or ARGV[6]
local left = extend(ms, true)
-- The receipt of its last write lives as long as a repeat may come.
if DONE then prolong(RECEIPT, left) end
local reply = { 1, ARGV[1], table.concat({ fence or 0, ms, '' }, ' ') }
