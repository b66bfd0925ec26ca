-- Shared: what follows when one of several places was taken. If there is another place, the next
-- waiter is told to ask: it may have begun to listen after that place was freed.
--
-- provides  had
-- needs     head is_full run
local function tell_next()
  local want, channel = string.match(head() or '', '^%S+ %d+ %l(%S*) %d+ %S* (.+)$')
  if want and not is_full(want) then redis.pcall('PUBLISH', channel, '0') end
end
local function had(fence)
  -- Damage to the queue must not hide that the place was taken.
  pcall(tell_next)
  return { 1, ARGV[1], fence, run(9) }
end
