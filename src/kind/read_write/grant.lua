-- Shared: adds a reader or the writer, extends the hold of one, or makes a reader of the writer, so
-- that nobody else writes in between.
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
