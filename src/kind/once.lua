-- Work that is executed once.
--
-- `Client::once(key)`: the first caller does the work under a mutex of that name. Its result is
-- kept beside the mutex, as text, for 24 h by default. Later callers get that result. All that
-- docs/protocol.md says of tokens, deadlines, receipts, waiting and unknown outcomes holds. The
-- differences:
-- - Acquire looks for a result first, and replies with it: one request, and nothing is executed.
-- - A command of the commit stores the result (`SET {key}:result … PX keep`). So it is stored in
--   the request that gives the lock back, only if the lease is still held, and exactly once by the
--   receipt of every commit. A holder that lost its lease stores nothing, and is told `lost`. A
--   holder whose reply is lost learns by its receipt that the result is stored. The first caller
--   needs two requests.
-- - Work that fails gives the lock back and stores nothing. The next caller does it. If a holder
--   dies, the next one follows when its ttl is over. While the work runs, the lease is renewed
--   (`Lock::run`).
-- - Callers that come meanwhile do not queue. They want the result, not the lock, and all can have
--   a stored result at once. A hand-over to the first would only delay the others. A release
--   publishes `0` to all listeners, on a channel named like the result's key. Each asks once, and
--   gets the result; if the work failed, one of them gets the lock. They have no part in a queue of
--   plain locks of that name. If the key has a `,`, a `%` or a control character, all poll.
-- - A fingerprint tells what was asked for. It stands in the mark of the result, and while the work
--   runs in the holder's label, `once:<fingerprint>`, which no label of another lock can be. An
--   acquire with another fingerprint is refused (`fingerprint_mismatch`). Fingerprints are compared
--   only if both have one: a caller without one gets whatever is kept.
-- - A result can be stale for the last part of its life (`Client::cached`). While nobody does the
--   work anew, the next caller gets the lock, and the copy by a read. All others get the copy. No
--   script deletes it: the new result replaces it, or its time is over.
-- - A result has a bound, 64 KiB by default and 256 KiB at most, since an answer has one, and a
--   byte can need three on its way. A larger result is not stored, and the caller is told
--   (`result_too_large`). The work was done then, and the next call does it again.
-- - It lives behind one bridge, which may be one of several by name, or be in front of a cluster. A
--   quorum refuses it, since its servers would have to agree on a result.
--
-- Executed once means kept once. A holder that is taken for dead may have done its work, and the
-- next one does it again. One of the two results is stored, and every caller is told that one. So
-- what the work does elsewhere must stand being done twice. The fence helps, or a key of its own
-- that the other service knows, or commands under the lease. If Redis loses the result, it forgets
-- that the work was executed.
--
-- A plain lock of the same name is the same mutex: each excludes the other. So work must not take a
-- lock of its own key.
--
-- kind  once, made of mutex
--
-- script acquire: version life kept if_contended wait acquire
-- script release: version release tell reply
-- script abandon: abandon tell reply
-- script force_release: force_release tell reply
-- script forget: version forget

--- kept
-- A stored result answers everybody who asks for the lock. It is '<mark> <result>'.
--
-- The mark says what was asked for. It is empty, or 'once:' and a fingerprint. It is also the
-- holder's label, so that it is known while the work runs. Only a caller with a fingerprint can
-- tell that another's differs.
--
-- KEYS  6 the result
-- ARGV  7 mark · 8 for how many ms a result is stale, empty if it never is
-- reply {2, nonce, RESP of the result}  it was executed
--       {-3, nonce}                     something else was, or is being, under the same key
--
-- needs     HOLDER hold_of resp
local mark, kept = string.match(redis.call('GET', KEYS[6]) or '', '^(%S*) (.*)$')
mark = mark or HOLDER and select(4, hold_of(HOLDER)) or ''
if string.find(mark, '^once:') and string.find(ARGV[7], '^once:') and mark ~= ARGV[7] then return { -3, ARGV[1] } end
local is_stale = kept and ARGV[8] ~= '' and redis.call('PTTL', KEYS[6]) <= tonumber(ARGV[8])
-- Whoever renews it, and asks again, gets the lock again.
if kept and not (is_stale and (not HOLDER or HOLDER == ARGV[2])) then return { 2, ARGV[1], resp(kept) } end

--- tell
-- Tells all waiters when the holder is done, well or not. They ask, and get the result; without a
-- result, one of them gets the lock.
--
-- KEYS  6 the result; the channel has the same name
--
-- needs     HOLDER
if not HOLDER then redis.pcall('PUBLISH', KEYS[6], '0') end

--- forget
-- Forgets what is kept of work that was executed once, unless the work is being done: its result
-- would be kept behind this.
--
-- KEYS  6 the result
-- ARGV  1 nonce
-- reply {1, nonce}             it was kept
--       {0, nonce}             nothing was
--       {2, nonce, ms, label}  the work is being done; how long its lock is left (-1: without end),
--                              and the holder's label
--
-- A repeat must not forget the next result. Nor must one that was refused, which may come when the
-- work is over: its caller was told that nothing was forgotten.
--
-- needs     DONE HOLDER NAME RECEIPT hold_of
local RECEIPT_MS = 30000
if DONE and DONE ~= '2' then return { tonumber(DONE), ARGV[1] } end
-- Of another type it is an error.
if DONE == '2' or HOLDER or redis.call('GET', NAME) then
  -- A full Redis refuses that, and tells all the same.
  redis.pcall('SET', RECEIPT, '2', 'PX', RECEIPT_MS)
  local left = redis.call('PTTL', NAME)
  return { 2, ARGV[1], left == -2 and 0 or left, HOLDER and select(4, hold_of(HOLDER)) or '' }
end
local kept = redis.call('DEL', KEYS[6])
redis.call('SET', RECEIPT, kept, 'PX', RECEIPT_MS)
return { kept, ARGV[1] }
