-- Shared: who holds the lock, and how often, without the entries that are over. Whoever only looks
-- does not remove these, as clean.lua does.
--
-- provides  holder_and_count
-- needs     ENTRIES HOLD NAME NOW_MS integer
local function holder_and_count()
  local holder, count = unpack(redis.call('HGETALL', NAME))
  local fence, owner = string.match(redis.call('GET', HOLD) or '', '^(%d+) (.*)$')
  if not holder or holder ~= owner then return holder, count end
  for _, entry in ipairs(redis.call('ZRANGEBYSCORE', ENTRIES, '-inf', '(' .. integer(NOW_MS))) do
    if string.match(entry, '^%d+') == fence then count = count - 1 end
  end
  if tonumber(count) > 0 then return holder, count end
end
