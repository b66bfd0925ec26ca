-- One writer, or many readers. Each hold is a lease like that of a lock. All that docs/protocol.md
-- says of tokens, deadlines, receipts, commands, waiting and unknown outcomes holds for it. The
-- differences:
-- - The writer is the holder of a mutex of that name, in how it is stored and how it waits. So it
--   excludes, and is excluded by, everybody who locks that key the common way.
-- - Readers hold the name together. While there are any, the name says `readers`, which is no
--   token, and lasts as long as the last reader. So readers and other programs' plain locks keep
--   each other out, at no cost to those programs.
-- - Who the readers are, and until when each reads, is stored beside the name. It counts only while
--   the name says `readers`. Deleting the name, or forcing a lock of that name, ends all readers.
--   None of them comes back when others read later: what is left of them is deleted before anybody
--   else reads.
-- - A reader ends by Redis's clock, and is deleted, as a permit is. A renewal never shortens what
--   it has.
-- - A waiting writer is not starved. A reader takes a free lock, or joins other readers, only if no
--   living writer that came earlier waits among the first hundred of the queue. With `fair(false)`
--   a reader barges: it looks at nobody. A writer that barges, as writers do by default, takes a
--   lock that is free for an instant, also ahead of readers that wait. The rules for waiters that
--   do not listen (`hearing`) hold for both. But a reader does not overtake a writer that has
--   died, until that does not count as alive any more. A hand-over does not stop at a reader that
--   does not listen.
-- - A release hands the lock to the next writer, or to all readers up to the next writer at once,
--   as far as they listen, in one script, a hundred at most. The rest ask. The reader that takes
--   the lock before them tells them to.
-- - Downgrade. One script makes a reader of a writer, in the same hold, with its token and its
--   fence. Nobody writes in between. The same script hands the lock to the readers that are first
--   in the queue. A repeat finds a reader, and renews it. A downgrade that arrives when the lease
--   is over changes nothing. While its outcome is unknown, so is what the lease is. All calls of
--   the lease work in either case.
-- - There is no upgrade. Two readers that waited for each other to leave would wait for ever. It is
--   refused before anything is sent. An acquire to write may arrive with a reader's token, perhaps
--   sent before the downgrade and delayed. It neither takes the lock nor joins the queue.
-- - The release of a plain lock of that name knows nothing of readers. If a reader is the first in
--   the queue, it stores the reader's token, as if that wanted to write, and tells it to ask.
--   Asking makes a reader of it, and the next one is told to ask. So readers behind a plain lock
--   begin one after the other, a round trip apart. Those behind a writer begin together.
-- - A fence is higher than all before, of any reader or writer. What several readers write at the
--   same time has no order that a fence could tell.
-- - Refused: turns that callers share, for readers, since others read at the same time (a writer
--   has them); a quorum, for both; and a signal list, since no other program's readers block on
--   one.
--
-- kind  read_write, made of holders
--
-- script acquire: version life clean acquire
-- script renew: version clean renew
-- script release: version clean release if_waited_for pass_on reply
-- script abandon: clean abandon if_waited_for leave_queue pass_on reply
-- script inspect: version inspect
-- script force_release: clean force_release if_waited_for pass_on reply
-- script downgrade: version clean downgrade if_waited_for pass_on reply

--- keys
-- While readers have the lock, the name says 'readers', which is nobody's token. So everybody who
-- locks that name the common way finds it held. Who they are counts only then: freeing the name
-- ends all readers.
--
-- provides  HOLDERS IS_SHARED MORE says
-- needs     HOLDER
local MORE, HOLDERS = KEYS[6], KEYS[7]
local function says(text) return HOLDER == text end
local IS_SHARED = says('readers')

--- storage
-- A lock that one writer has, or that readers share. The writer is stored as the holder of a mutex.
--
-- provides  is_full is_held suits
-- needs     HOLDER says till
local function is_held() return says(ARGV[2]) or till[ARGV[2]] end
-- A reader has room beside other readers.
local function is_full(want) return HOLDER and not (want == 'r' and says('readers')) end
local function suits(want) return want == '' or want == 'r' end

--- grant
-- Adds a reader or the writer, extends the hold of one, or makes a reader of the writer, so that
-- nobody else writes in between.
--
-- provides  extend grant
-- needs     HOLDER HOLDERS IS_SHARED NAME add go_on issue_fence last_end prolong prolong_record
-- needs     says take till
-- What is left of readers of before must not come back. What another program keeps there stays.
local function forget_readers()
  if redis.call('ZCARD', HOLDERS) > 0 then redis.call('DEL', HOLDERS) end
end
local function grant(token, ms, ttl, label, want)
  local reads, fence = want == 'r', nil
  local function store()
    if reads then fence = add(token, ms, ttl, label) else fence = issue_fence(token, ttl, label) end
  end
  if reads and says('readers') then
    store()
    redis.call('PEXPIRE', NAME, last_end())
  else
    if reads then forget_readers() end
    take(reads and 'readers' or token, ms, store, reads and HOLDERS)
  end
  return fence
end
local function extend(ms, reads)
  local left
  if till[ARGV[2]] then
    left = go_on(ARGV[2], ms)
    redis.call('PEXPIRE', NAME, last_end())
  else
    left = prolong(NAME, ms)
    if reads then
      forget_readers()
      go_on(ARGV[2], left)
      redis.call('PEXPIRE', HOLDERS, left)
      redis.call('SET', NAME, 'readers', 'PX', left)
      HOLDER, IS_SHARED = 'readers', true
    end
  end
  prolong_record(ms)
  return left
end

--- acquire
-- Takes the lock as its writer, or as a reader. Or says how long neither is possible, and joins the
-- queue.
--
-- ARGV  1 nonce · 2 token · 3 ttl in ms · 4 ms for which the waiter counts as alive ·
--       5 waiter, empty not to wait · 6 f to wait for its turn, b to barge; behind that r to get
--       the results in any case · 7 label · 8 r to read, empty to write · 9 as in `life` ·
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

--- ahead
-- The waiter that goes ahead of this one. For a writer, any that came earlier; for a reader, a
-- writer that did, or any of the first ones if it is not one of these.
--
-- provides  ahead
-- needs     WAITER WAITERS head others_wait
local function ahead()
  local first = head()
  for waiter in string.gmatch(WAITERS, '%d+ %d+ %d+ ([^,]*),') do
    if waiter == WAITER then return nil end
    if ARGV[8] ~= 'r' or not string.find(waiter, '^v1 %S+ %d+ %lr') then return waiter end
  end
  return others_wait() and first
end

--- in_the_way
-- For how many ms nobody can have the lock, and the label of the writer, or of the reader that ends
-- last.
--
-- provides  in_the_way
-- needs     HOLDER NAME from_last hold_of
local function in_the_way() return redis.call('PTTL', NAME), select(4, hold_of(from_last(1) or HOLDER)) end

--- leave
-- Removes a reader or the writer, or all of them.
--
-- provides  delete free
-- needs     HOLDER NAME is_many last_end remove says till
local function delete()
  redis.call('DEL', NAME)
  HOLDER, till, is_many = false, {}, false
end
local function free()
  if says('readers') then remove(ARGV[2]) end
  -- To others it is held until the last reader ends. Of a crowd, nobody may be left.
  local life = says('readers') and last_end() or '0'
  if life ~= '0' then
    redis.call('PEXPIRE', NAME, life)
  else
    redis.call('DEL', NAME)
    HOLDER = false
  end
end

--- downgrade
-- Makes a reader of the writer, in the same hold. Nobody else writes in between, and others may
-- read from now on. Asking again renews a reader.
--
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

--- inspect
-- Says who holds the lock and for how long, the last fence, how many wait, and, if readers share
-- it, who they are. Changes nothing.
--
-- ARGV  1 nonce · 2 not used
-- reply {1, nonce, RESP of: the writer or nil, 1, ms left (-1: without end, -2: free), the last
--                  fence and holds or nil, waiters, 0: as of a mutex;
--                  and if readers have it, an array of each one, ms left, and label}
--
-- needs     NAME known listed resp says shown waiting
local holder, readers = redis.call('GET', NAME), ''
if says('readers') then
  holder, readers = false, listed()
  for at, token in ipairs(readers) do readers[at] = shown(token) end
  readers = resp(readers)
end
return { 1, ARGV[1], resp(holder) .. resp(1) .. resp(redis.call('PTTL', NAME)) .. resp(known()) .. resp(waiting()) .. resp(0) .. readers }
