-- Shared: the waiter that goes ahead of this one. For a writer, any that came earlier; for a
-- reader, a writer that did, or any of the first ones if it is not one of these.
--
-- provides  ahead
-- needs     WAITER WAITERS head others_wait
local function ahead()
  local first = head()
  for waiter in string.gmatch(WAITERS, '%d+ %d+ %d+ ([^,]*),') do
    if waiter == WAITER then return nil end
    if ARGV[8] ~= 'r' or not string.find(waiter, '^v1 %S+ %d+ %lr') then return waiter end
  end
  return others_wait() and first
end
