-- Shared: what follows when one of several places was taken. Its holder waits no more. If there is
-- another place, the next waiter is told to ask: it may have begun to listen after that place was
-- freed.
--
-- provides  had
-- needs     WAITER head is_full remove_waiter run
local function had(fence)
  if WAITER ~= '' then remove_waiter(WAITER) end
  local want, channel = string.match(head() or '', '^%S+ %d+ %l(%S*) %d+ %S* (.+)$')
  if want and not is_full(want) then redis.pcall('PUBLISH', channel, '0') end
  return { 1, ARGV[1], fence, run(9) }
end
