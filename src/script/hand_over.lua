-- Shared: gives the lock, which is free now, to the first waiter that is alive and hears of it.
--
-- Whoever does not listen is passed over, and takes the lock when it asks. A fair one is not: it is its turn.
-- The lock is stored before it is told: if the one fails, nobody may hear the other.
local function hand_over()
  local fence
  local place = 0
  for _ = 1, 100 do
    local waiter = redis.call('ZRANGE', QUEUE, place, place)[1]
    if not waiter then return end
    if alive_for(waiter) <= 0 then
      bury(waiter)
    else
      place = place + 1
      local token, ms, manner, channel = string.match(waiter, '^(%S+) (%d+) (%S) (.*)$')
      if channel ~= '' then
        fence = fence or issue_fence()
        redis.call('SET', NAME, token, 'PX', ms)
        local heard = redis.pcall('PUBLISH', channel, fence .. ' ' .. whole(NOW_US))
        if type(heard) == 'number' and heard > 0 then return bury(waiter) end
        redis.call('DEL', NAME)
      end
      if manner == 'f' then return end
    end
  end
end
-- Damage to the queue must not keep the lock from being freed.
local function wake() pcall(hand_over) end
local function wipe()
  redis.call('DEL', NAME)
  wake()
end
local free = wipe
