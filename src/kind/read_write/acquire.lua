-- Takes the lock as its writer, or as a reader. Or says how long neither is possible, and joins the
-- queue.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… keys of the reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive ·
--       5 waiter, empty not to wait · 6 f to wait for its turn, b to barge; behind that r to get
--       the results in any case · 7 label · 8 r to read, empty to write · 9 as in life.lua ·
--       10… reads
-- reply {1, nonce, fence, results}    held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results}  held by others for that long (-1: without
--                                     end), or free for a waiter that goes first; how many wait
--                                     ahead; Redis's time in microseconds; the label of the
--                                     holder that ends last; results only if asked for
--       {-1, nonce}                   this token was abandoned, or has already ended, or reads and
--                                     asks to write: a straggler
--
-- Asking again with the same token is harmless, as with a mutex. A waiter that wants to read, and
-- was handed the lock as its writer by the release of a mutex, goes on as a reader. No reader
-- becomes the writer. The next reader in the queue is told to ask.
--
-- needs     DONE WAITER WENT acquired ahead extend grant had in_the_way is_full is_held
-- needs     liveness_left refuse remove_waiter save says
local reads = ARGV[8] == 'r'
local held, writes = is_held(), says(ARGV[2])
-- Nor does it join the queue to write, since its lease may have been the writer's before.
if held and not reads and not writes then return { -1, ARGV[1] } end
if not held then
  if WENT or DONE then return { -1, ARGV[1] } end
  if is_full(ARGV[8]) then return refuse(in_the_way()) end
  local first = string.find(ARGV[6], 'f') and ahead()
  if first then return refuse(liveness_left(first)) end
end
remove_waiter(WAITER)
local fence = held and acquired()
if fence then
  extend(ARGV[3], reads)
  save()
else
  fence = grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], ARGV[8])
end
return had(fence)
