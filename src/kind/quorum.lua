-- A mutex at each of several servers, of which a majority decides.
--
-- Time-out. A vote waits for a server for a quarter of the ttl, and never for more than
-- `request_timeout`. So a server that does not respond costs nothing while there is a majority
-- without it.
--
-- Splits. An acquisition that failed withdraws everywhere, also at servers that did not answer. It
-- goes on with a new token after a random pause.
-- - From the second try on it asks one server first, the same one for all contenders of the name.
--   The name chooses it, as it chooses a shard. The others are asked only if the lock is free
--   there. So contenders do not split the vote again and again, and a try costs one request instead
--   of 2 N.
-- - Every fourth try asks all servers at once, since that one may still know of a holder that is
--   gone.
--
-- An even N works, and gains nothing.
--
-- Fence. Each server issues its own. The highest of the majority counts. Before it is returned,
-- `raise` makes it the last fence of a majority. So every later majority has a server that knew of
-- it. A token is raised to one fence: if the raise fails, the token is given back, and the next try
-- has a new one. So a `raise` that comes late tells its server nothing else than before.
-- - If that server still has it, it issues a higher one.
-- - If that server came back empty, only its clock can tell. It grants nothing before the
--   quarantine is over. Its time is higher then if the servers' clocks differ by less than the
--   quarantine.
--
-- So fences grow as long as the clocks agree to that degree. No server can promise more, since
-- those that still remember may be away. Servers with NTP differ by milliseconds. If a ttl is no
-- longer than that, set `restart_quarantine`.
--
-- The highest fence is also kept as the hold's own. So if a majority renews a resumed lease, one of
-- its servers knows the fence. What a single server issued is not the hold's fence: the next
-- holder's could be lower.
--
-- A server that came back may have lost its locks. So it grants none until it has been up for one
-- ttl, as the Redlock page asks.
-- - `vote` reads `uptime_in_seconds`, and says how much time is missing. If names are locked for
--   different ttls, set `restart_quarantine` to the longest.
-- - If so many have no say that the others are no majority, an acquisition is quarantined. It says
--   when that ends at the earliest, and so does `inspect`: nobody could say whether the lock is
--   held. A wait goes on past the quarantine, or ends at once if the quarantine is longer.
-- - Redis counts that time by its wall clock. If a server's clock steps ahead after its start, as
--   when it is first set over the network, it has a say too early. If the clock steps back, it has
--   a say later by as much. Set the clock before Redis starts.
-- - A server that does not say how long it has been up (other engines) is believed. So is one that
--   lost its keys while it ran (`FLUSHALL`, a fail-over behind one address).
--
-- What a quorum does not have:
-- - a queue, so no hand-over and no `fair`; nor a signal list;
-- - replicas to wait for: the servers stand in for each other;
-- - any other kind of lock, and neither `once`, throttles nor debounces;
-- - reads and writes, since the data is not there.
--
-- A renewal asks the servers again that did not vote for the lease, or lost their vote. A server
-- that has the lock free, and has been up for long enough, votes anew. It raises its fence to that
-- of the hold. So once a lease was renewed twice, all servers have it that were up for both
-- renewals, had it free, and were past their quarantine. Then any minority of them may fail.
-- - A new vote counts from the first renewal on that follows a granted one. Each renewal says its
--   number, and that of the last one that was granted. The server keeps the number of the renewal
--   that got its vote, for the ttl and 60 s.
-- - So new votes bring back no lease that ran out at a majority or was freed by force. Others may
--   have had the lock in between, and those votes never count.
-- - A server that was renewed takes no `vote` of that token again, and none votes anew for a token
--   that was given back.
-- - A resumed lease knows no fence before its first renewal. So new votes begin with its second.
-- - An answer that comes past the lease's deadline renews nothing.
--
-- kind  quorum, made of mutex
--
-- script acquire: version life acquire
-- script renew: version renew
-- script release: withdraw
-- script abandon: withdraw
-- script raise: version raise

--- acquire
-- Takes the lock at one of several servers, if it is free there.
--
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 7 label · 8 ms for which this server must have been up ·
--       9 as in `life` · 4 to 6 not used
-- reply {1, nonce, fence, ''}     held by this token, with the full ttl
--       {0, nonce, ms, 0, 0, label}  held by another for that long (-1: without end)
--       {-2, nonce, ms}           for that long not this server's to give
--       {-1, nonce}               this token was abandoned, given back, or renewed: a straggler
--
-- needs     DONE HOLDER LAST NAME WENT hold_of keep missing_uptime next_fence prolong take
local mine = HOLDER == ARGV[2]
if not mine then
  if WENT or DONE then return { -1, ARGV[1] } end
  if HOLDER then return { 0, ARGV[1], redis.call('PTTL', NAME), 0, 0, select(4, hold_of(HOLDER)) or '' } end
  local missing = missing_uptime(ARGV[8])
  if missing > 0 then return { -2, ARGV[1], missing } end
end
local fence = mine and LAST
if fence then
  prolong(NAME, ARGV[3])
else
  fence = next_fence()
  -- The hold's fence is known only once a majority has voted. This server may know it: it raised it
  -- before the hold ran out here.
  take(ARGV[2], ARGV[3], function() keep(fence, ARGV[2], hold_of(ARGV[2]) or 0, ARGV[3], ARGV[7]) end)
end
return { 1, ARGV[1], fence, '' }

--- uptime
-- How many more ms this server has no say, if it must have been up for `ms`. A server that came
-- back without its locks would grant one that others still know of. Uptime counts whole seconds,
-- and the first one may be short. It is negative if the clock was set back behind the start.
--
-- provides  missing_uptime
local function missing_uptime(ms)
  local up = string.match(tostring(redis.pcall('INFO', 'server')), 'uptime_in_seconds:(%-?%d+)')
  return up and math.max(0, ms - (up - 1) * 1000) or 0
end

--- renew
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

--- withdraw
-- Gives back what this server has of a lock, and lets nothing that arrives late take it again.
--
-- ARGV  1 nonce · 2 token
-- reply {1, nonce, ''}  it was held, and is no longer
--       {0, nonce}      it was not held
--
-- The reply is kept for a repeat.
--
-- needs     GONE WENT free is_held
local held = WENT
if not held then
  held = is_held() and 'held' or ''
  if held ~= '' then free() end
  redis.call('SET', GONE, held, 'PX', 60000)
end
if held == '' then return { 0, ARGV[1] } end
return { 1, ARGV[1], '' }

--- raise_fence
-- Keeps the fence that the majority issued, and makes every later one of this server higher.
--
-- provides  raise_fence
-- needs     LAST check_record integer keep
local function raise_fence(fence, ttl, label)
  check_record()
  keep(integer(math.max(LAST or 0, fence)), ARGV[2], fence, ttl, label)
end

--- raise
-- Raises what this server has of a lock to the fence of the hold.
--
-- ARGV  1 nonce · 2 token · 3 fence · 4 ttl in ms · 5 label
-- reply {1, nonce}  done: the lock is held
--       {0, nonce}  lost
--
-- needs     is_held raise_fence
if not is_held() then return { 0, ARGV[1] } end
raise_fence(ARGV[3], ARGV[4], ARGV[5])
return { 1, ARGV[1] }
