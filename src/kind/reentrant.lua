-- A lock that its owner may enter again.
--
-- An owner that has the lock may take it again, in any handler. The lock is free once it was
-- released as often as it was taken. It is stored as Redisson stores its `RLock`: a hash with one
-- field, the owner, whose value is the count. Its last release publishes `0` on Redisson's channel.
-- A Redisson owner is `<client id>:<thread id>`. So both see one lock, and each wakes the other's
-- waiters.
--
-- The record has what makes a repeat harmless. Each entry that counts is there, with when it ends.
-- So a repeat of an acquire does not count twice, and a repeat of a release does not end a later
-- hold. An entry that is not there counts no more, even if the clock is set back.
--
-- An acquire or a renewal never shortens what another entry of the hold needs.
--
-- Each entry has a ttl of its own. It counts no longer than that, whatever other entry keeps the
-- hold. Each call of the owner, and each try of another, first removes the entries that are over.
-- An inspection leaves them, and does not count them. So a handler that died, or whose release got
-- lost, keeps others out for its ttl, and not for as long as its owner comes again. Redisson's part
-- of a hold is different. What Redisson counts stays until Redisson takes it off, or the hold is
-- over. If Redisson alone keeps a hold on, the entries that were over before stay on the count
-- until the hold is over.
--
-- Data may be a hash too, and so is Redisson's read/write lock. A reentrant lock refuses a hash
-- that has several fields, or no whole number where an owner has a count (`wrong_type`). It cannot
-- tell data of one field with such a number.
--
-- Waiters for a reentrant lock do not queue, since Redisson's do not: all hear the same message,
-- and all ask. So the lock cannot be fair.
--
-- kind  reentrant
--
-- script acquire: version life clean acquire
-- script renew: version clean renew
-- script release: version clean release reply
-- script abandon: clean abandon reply
-- script inspect: version inspect
-- script force_release: force_release reply

--- storage
-- A lock as a hash, owner to count, as Redisson's RLock is stored; its waiters hear of a release on
-- Redisson's channel.
--
-- The hash has no place for more, so the record has the rest. The holds in it are the hold, as '-',
-- and each entry of it that counts. All have one fence, and the owner as their label. So nobody
-- leaves twice, or leaves a later hold.
--
-- provides  ENTRY OWNER delete drop free has_mine is_held leave owners refuse_others till word
-- needs     HOLDS NAME RECEIPT hold_of now_ms
local OWNER, ENTRY = ARGV[2], string.match(RECEIPT, '[^:]*$')
local CHANNEL = 'redisson_lock__channel:' .. (string.find(NAME, '{', 1, true) and NAME or '{' .. NAME .. '}')
-- An owner as one word without what separates the parts of the record.
local function word(owner)
  return (string.gsub(owner, '[%c ,;%%]', function(byte) return string.format('%%%02X', string.byte(byte)) end))
end
local owners, is_free = redis.pcall('HGETALL', NAME), false
-- Whether this owner has the lock, and the hold in the record is its present one.
local function has_mine(owner)
  local _, _, ends, label = hold_of('-')
  return owner and owners[1] == owner and label == word(owner) and tonumber(ends) >= now_ms()
end
-- Of a name that is no hash, another kind of lock has the record.
local till = {}
for token, ends in string.gmatch(owners.err and '' or HOLDS, '(%S+) %d+ %d+ (%d+) [^;]*;') do till[token] = tonumber(ends) end
local function is_held() return has_mine(OWNER) and till[ENTRY] and till[ENTRY] >= now_ms() end
-- A lock has one owner, and a count. Data may be a hash too, and so is Redisson's read/write lock.
local function refuse_others()
  if owners.err then redis.call('HLEN', NAME) end
  -- Of a hash this is the error WRONGTYPE.
  if #owners > 2 or owners[2] and not string.find(owners[2], '^%d+$') then redis.call('GET', NAME) end
end
local function delete()
  redis.call('DEL', NAME)
  redis.pcall('PUBLISH', CHANNEL, '0')
  HOLDS, till, owners, is_free = '', {}, {}, true
end
-- Forgets an entry.
local function drop(token)
  till[token] = nil
  HOLDS = string.gsub(HOLDS, '(%S+) [^;]*;', function(whose) return whose == token and '' or nil end)
end
local function leave(token)
  drop(token)
  if tonumber(owners[2]) > 1 then
    -- Begins with what a full Redis does not refuse. No owner has such a name.
    redis.call('HDEL', NAME, '')
    owners[2] = redis.call('HINCRBY', NAME, owners[1], -1)
  else
    delete()
  end
end
-- Commands may have stored the name again.
local function free()
  if till[ENTRY] then leave(ENTRY) elseif is_free then redis.call('DEL', NAME) end
end

--- clean
-- Entries that are over count no more: their handlers died, or their releases got lost, and other
-- entries of the owner keep the hold. What Redisson counts stays.
--
-- needs     drop has_mine leave now_ms owners save till
local ended = {}
for token, ends in pairs(till) do
  if token ~= '-' and ends < now_ms() then ended[#ended + 1] = token end
end
table.sort(ended)
for _, token in ipairs(ended) do
  if has_mine(owners[1]) then leave(token) else drop(token) end
end
if #ended > 0 then save() end

--- acquired
-- The fence and the ttl of this entry, if it is known.
--
-- provides  acquired
-- needs     ENTRY hold_of
local function acquired() return hold_of(ENTRY) end

--- acquire
-- Takes a reentrant lock, or enters it once more, or says how long its holder has left.
--
-- ARGV  1 nonce · 2 owner · 3 ttl in ms · 6 with r to have the results if it is refused, too ·
--       4, 5, 7 and 8 not used · 9 as in `life` · 10… reads
-- reply {1, nonce, fence, results}  entered by this owner, with at least the full ttl
--       {0, nonce, ms, place, time, '', results}
--                                   another holds it for that long (-1: without end); the place is
--                                   0, since nobody queues, and so is the time; the results only if
--                                   they were asked for
--       {-1, nonce}                 a straggler: this entry was abandoned, or has ended
--
-- Asking again for the same entry is harmless: the same fence, the same count.
--
-- needs     DONE ENTRY HOLDS LAST NAME OWNER WENT enter extend has_mine hold_of is_held next_fence
-- needs     owners prolong prolong_record refuse_others run save till
refuse_others()
if is_held() then
  extend(ARGV[3])
  return { 1, ARGV[1], (hold_of(ENTRY)), run(10) }
end
if WENT or DONE then return { -1, ARGV[1] } end
local mine = owners[1] == OWNER
if owners[1] and not mine then
  return { 0, ARGV[1], redis.call('PTTL', NAME), 0, 0, '', string.find(ARGV[6], 'r') and run(10) or nil }
end
local fence, ttl = has_mine(OWNER) and hold_of('-'), nil
if not fence then
  fence, ttl = next_fence(), ARGV[3]
  LAST, HOLDS, till = fence, '', {}
end
enter(fence, ARGV[3], ARGV[3])
-- The record first: if that fails, nothing is counted.
save(ttl)
redis.call('HINCRBY', NAME, OWNER, 1)
if mine then prolong(NAME, ARGV[3]) else redis.call('PEXPIRE', NAME, ARGV[3]) end
if not ttl then prolong_record(ARGV[3]) end
return { 1, ARGV[1], fence, run(10) }

--- extend
-- Extends the hold of a reentrant lock, for an entry of this caller. Another entry may need it for
-- longer.
--
-- provides  enter extend
-- needs     ENTRY HOLDS NAME OWNER drop hold_of integer now_ms prolong prolong_record save till
-- needs     word
local function add(token, fence, ttl, ms)
  local ends = math.max(till[token] or 0, now_ms() + ms)
  drop(token)
  till[token] = ends
  HOLDS = table.concat({ HOLDS, token, ' ', fence, ' ', ttl, ' ', integer(ends), ' ', word(OWNER), ';' })
end
local function enter(fence, ttl, ms)
  add('-', fence, ttl, ms)
  add(ENTRY, fence, ttl, ms)
end
local function extend(ms)
  local fence, ttl = hold_of(ENTRY)
  local left = prolong(NAME, ms)
  enter(fence, ttl, ms)
  save()
  prolong_record(ms)
  return left
end

--- counted
-- Who holds the lock, and how often, without the entries that are over. Whoever only looks does not
-- remove these, as `clean` does.
--
-- provides  holder_and_count
-- needs     has_mine integer now_ms owners refuse_others till
local function holder_and_count()
  refuse_others()
  local holder, over = owners[1], 0
  for token, ends in pairs(till) do
    if token ~= '-' and ends < now_ms() and has_mine(holder) then over = over + 1 end
  end
  -- A count that no number here can have stays as it is.
  if over == 0 then return holder, owners[2] end
  if tonumber(owners[2]) > over then return holder, integer(owners[2] - over) end
end
