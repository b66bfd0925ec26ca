-- Shared: what follows once a place of several is had: who has it waits no more, and where there is room for another, the next in the queue is told to
-- ask, as it may have begun to listen after that was left free.
--
-- provides  had
-- needs     WAITER bury head is_full run
local function had(fence)
  if WAITER ~= '' then bury(WAITER) end
  local want, channel = string.match(head() or '', '^%S+ %d+ %l(%S*) %d+ %S* (.+)$')
  if want and not is_full(want) then redis.pcall('PUBLISH', channel, '0') end
  return { 1, ARGV[1], fence, run(9) }
end
