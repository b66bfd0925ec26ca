-- Entries that are over count no more: their handlers died, or their releases got lost, and other
-- entries of the owner keep the hold. The fence tells those of earlier holds apart, which counted
-- there. What Redisson counts stays.
--
-- needs     ENTRIES ENTRY HOLD NAME NOW_MS acquired integer leave
local held, owner = string.match(redis.call('GET', HOLD) or '', '^(%d+) (.*)$')
for _, entry in ipairs(redis.pcall('ZRANGEBYSCORE', ENTRIES, '-inf', '(' .. integer(NOW_MS))) do
  redis.call('ZREM', ENTRIES, entry)
  local fence, key = string.match(entry, '^(%d+) (.*)$')
  if key == ENTRY and acquired() == fence then redis.call('DEL', ENTRY) end
  if fence == held and redis.pcall('HEXISTS', NAME, owner) == 1 then leave(owner) end
end
