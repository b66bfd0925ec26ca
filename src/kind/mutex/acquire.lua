-- Takes the lock, or says how long its holder has left, and joins the queue.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… those of the kind, then keys of the
--       reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive ·
--       5 waiter, empty not to wait · 6 f to wait for its turn, b to barge; behind that r to get
--       the results in any case · 7 label · 8 not used · 9 as
--       in life.lua · 10… reads
-- reply {1, nonce, fence, results}    held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results}  held by another for that long (-1: without
--                                     end), or free for the first waiter; how many wait ahead;
--                                     Redis's time in microseconds; the holder's label; results
--                                     only if asked for
--       {-1, nonce}                   this token was abandoned, or has already ended: a straggler
--
-- Asking again with the same token is harmless: it gets the same fence, the full ttl and the same
-- place. If it paused for so long that it counted as dead, it gets the last place.
--
-- needs     extend hold_of issue_fence mine run save take
local fence = mine and hold_of(ARGV[2])
if fence then
  extend(ARGV[3])
  save()
else
  take(ARGV[2], ARGV[3], function() fence = issue_fence(ARGV[2], ARGV[3], ARGV[7]) end)
end
return { 1, ARGV[1], fence, run(10) }
