-- A mutex for one that takes it over from its holder.
--
-- kind  take_over, made of mutex
--
-- script acquire: version life take_over

--- take_over
-- Takes the lock, also from a holder whom this library knows: one whose hold is in the record. It
-- refuses what another program holds. Waiters stay in line behind the new holder.
--
-- A token does so once: it leaves a mark, since a late copy of its request could take the lock back
-- from a newer holder. It does not stand in the queue, whose waiters are handed the lock without
-- such a mark. It tells the old holder, if that listens, to look whether it still has the lock.
--
-- KEYS and ARGV as of `acquire` of mutex.lua; nobody waits, and nobody is fair
-- reply as of `acquire` of mutex.lua; {-1, nonce} also if this token's lock was taken over, or has
--       ended
--
-- needs DONE FENCE GONE HOLDER LAST NAME WENT check_record extend hold_of issue_fence run save take
local mine = HOLDER == ARGV[2]
if not mine and (WENT or DONE) then
  -- Another copy may come, later than the mark would last.
  redis.pcall('PEXPIRE', GONE, 60000)
  return { -1, ARGV[1] }
end
local is_taken = HOLDER and not mine
if is_taken and not hold_of(HOLDER) then
  return { 0, ARGV[1], redis.call('PTTL', NAME), 0, LAST or 0, '', string.find(ARGV[6], 'r') and run(10) or nil }
end
local fence = mine and hold_of(ARGV[2])
local function store() fence = issue_fence(ARGV[2], ARGV[3], ARGV[7]) end
if fence then
  extend(ARGV[3])
  save()
elseif is_taken then
  check_record()
  redis.call('SET', NAME, ARGV[2], 'XX', 'PX', ARGV[3])
  store()
  redis.pcall('PUBLISH', string.sub(FENCE, 1, -6) .. 'lost', '0')
else
  take(ARGV[2], ARGV[3], store)
end
redis.call('SET', GONE, '', 'PX', 60000)
return { 1, ARGV[1], fence, run(10) }
