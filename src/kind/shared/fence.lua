-- Shared: Redis's time, and the fence that comes from it. It is higher than all before, even if
-- Redis has forgotten those.
--
-- FENCE is '<last> <token> <fence> <ttl> <label>': the last fence issued; then, of the present hold
-- or the last one, its token, its fence (0: not known here), the ttl in ms that it was acquired
-- for, and its label, which is one word, or empty.
--
-- provides  NOW_MS NOW_US integer issue_fence keep_fence last_fence next_fence
-- needs     FENCE FENCE_MS
local TIME = redis.call('TIME')
local NOW_US = TIME[1] * 1000000 + TIME[2]
local NOW_MS = math.floor(NOW_US / 1000)
local function integer(number) return string.format('%.0f', number) end
local function last_fence()
  local kept = redis.call('GET', FENCE)
  local last = string.match((kept or '') .. ' ', '^(%d+) ')
  -- What another program keeps there stays, as a number from 2^53 on, which Lua does not count
  -- exactly. Of a string this is the error WRONGTYPE.
  if kept and not (last and tonumber(last) < 9007199254740991) then redis.call('ZCARD', FENCE) end
  return last
end
local function next_fence() return integer(math.max((last_fence() or 0) + 1, NOW_US)) end
local function keep_fence(last, token, fence, ttl, label)
  redis.call('SET', FENCE, table.concat({ last, token, fence, ttl, label }, ' '), 'PX', FENCE_MS + ttl)
end
local function issue_fence(token, ttl, label)
  local fence = next_fence()
  keep_fence(fence, token, fence, ttl, label)
  return fence
end
