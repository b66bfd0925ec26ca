-- Shared: who waits, in order of arrival. A waiter is '<token> <ms> <f or b> <ttl> <label> <channel>': for how long it is to have the
-- lock if it is handed over, whether it waits its turn (fair) or barges, the ttl in ms and the label that it asks for, and where it listens,
-- if it does.
-- For how long a waiter counts as alive yet. One that is not even there died long ago.
--
-- provides  alive_for
-- needs     ALIVE NOW_MS
local function alive_for(waiter)
  return (tonumber(redis.call('ZSCORE', ALIVE, waiter) or 0) or 0) - NOW_MS
end
