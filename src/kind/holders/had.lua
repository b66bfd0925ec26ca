-- Shared: what follows when one of several places was taken. If there is another place, the next
-- waiter is told to ask: it may have begun to listen after that place was freed.
--
-- provides  had
-- needs     WAITERS head is_full run
local function had(fence)
  local want, channel = string.match(WAITERS ~= '' and head() or '', '^v1 %S+ %d+ %l(%S*) %d+ %S* (.+)$')
  if want and not is_full(want) then redis.pcall('PUBLISH', channel, '0') end
  return { 1, ARGV[1], fence, run(10) }
end
