-- Shared: the waiters, in order of arrival. A waiter is '<token> <ms> <f or b> <ttl> <label>
-- <channel>': how long it has the lock if it is handed over, whether it waits its turn (fair) or
-- barges, the ttl in ms and the label that it asks for, and its channel if it listens.
--
-- liveness_left: how much longer a waiter counts as alive. One without an entry died long ago.
--
-- provides  liveness_left
-- needs     ALIVE NOW_MS
local function liveness_left(waiter)
  return (tonumber(redis.call('ZSCORE', ALIVE, waiter) or 0) or 0) - NOW_MS
end
