-- Takes one of several places, or says how long none is free, and joins the queue.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6… keys of the reads
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive ·
--       5 waiter, empty not to wait · 6 f to wait for its turn, b to barge; behind that r to get
--       the results in any case · 7 label · 8 what it wants, as the kind stores it ·
--       9 as in life.lua · 10… reads
-- reply {1, nonce, fence, results}    held by this token, with the full ttl
--       {0, nonce, ms, place, time, label, results}  nothing is free for that long (-1: without
--                                     end), or free for the first waiter; how many wait ahead;
--                                     Redis's time in microseconds; the label of the holder that
--                                     ends next; results only if asked for
--       {-1, nonce}                   this token was abandoned, or has already ended: a straggler
--
-- Asking again with the same token is harmless: it gets the same fence, the full ttl and the same
-- place. If it paused for so long that it counted as dead, it gets the last place.
--
-- needs     DONE KEPT_MS WAITER WENT acquired besides_kept extend grant had head in_the_way is_full
-- needs     is_held liveness_left refuse refuse_others remove_waiter save
local fence = is_held() and acquired()
if not fence then
  if WENT or DONE then return { -1, ARGV[1] } end
  refuse_others()
  if is_full(ARGV[8]) then return refuse(in_the_way(ARGV[8])) end
  if is_full(besides_kept(ARGV[8])) then return refuse(KEPT_MS) end
  local first = string.find(ARGV[6], 'f') and head()
  if first and first ~= WAITER then return refuse(liveness_left(first)) end
end
remove_waiter(WAITER)
if fence then
  extend(ARGV[3])
  save()
else
  fence = grant(ARGV[2], ARGV[3], ARGV[3], ARGV[7], ARGV[8])
end
return had(fence)
