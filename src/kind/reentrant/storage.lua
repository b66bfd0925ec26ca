-- Shared: a lock as a hash, owner to count, as Redisson's RLock is stored; its waiters hear of a
-- release on Redisson's channel.
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
local till = {}
for token, ends in string.gmatch(HOLDS, '(%S+) %d+ %d+ (%d+) [^;]*;') do till[token] = tonumber(ends) end
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
