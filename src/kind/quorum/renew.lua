-- Gives this server's vote for a lock its ttl again, unless it has more. If the server has none,
-- and the lock is free here, it votes anew: it had voted for another, was away, or forgot its vote.
--
-- A new vote counts once a majority has granted the renewal that got it without it. So new votes
-- bring back no lock that ran out, or was freed by force.
--
-- KEYS  1 name · 2 receipt: the last renewal, behind a = if this server said yes · 3 gone ·
--       4 fence · 5 queue
-- ARGV  1 nonce · 2 token · 5 fence of the hold, 0 if the lease does not know it: then no server
--       votes anew · 6 ttl in ms · 7 told, or empty for the hold's own ttl, if that is known ·
--       8 label · 9 ms for which this server must have been up · 10 this renewal · 11 the last one
--       that was granted · 12 ms for which the record outlasts the hold · 3, 4 not used
-- reply {1, nonce, '<fence> <ms> '}  held, for at least that long; the hold's fence, 0 if that is
--                                   not known here
--       {0, nonce}                  there is no vote that counts
--
-- needs     DONE FENCE_MS NAME RECEIPT WENT acquired extend is_held missing_uptime prolong
-- needs     raise_fence
local function note(said) return redis.pcall('SET', RECEIPT, said, 'PX', ARGV[6] + 60000) end
local held, last, yes = is_held(), DONE or '=', '=' .. ARGV[10]
if held and (string.find(last, '^=') or last == ARGV[11]) then
  local fence, ttl = acquired()
  local ms = ARGV[7] == '' and ttl or ARGV[6]
  extend(ms)
  note(yes)
  return { 1, ARGV[1], table.concat({ fence or 0, ms, '' }, ' ') }
end
-- A renewal that was answered already, and comes again, gets no vote.
if last ~= yes and note(ARGV[10]).ok and ARGV[5] ~= '0' and not WENT then
  if held or redis.call('EXISTS', NAME) == 0 and missing_uptime(ARGV[9]) == 0 then
    FENCE_MS = math.max(FENCE_MS, ARGV[12])
    raise_fence(ARGV[5], ARGV[6], ARGV[8])
    redis.call('SET', NAME, ARGV[2], 'PX', ARGV[6], 'NX')
    prolong(NAME, ARGV[6])
  end
end
return { 0, ARGV[1] }
