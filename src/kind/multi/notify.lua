-- Shared: who waits for this name, if it is free, is handed it.
--
-- provides  notify
-- needs     WAITERS hand_over save
-- Damage to the queue must not keep the lock from being freed.
local function notify(quietly)
  if WAITERS ~= '' then pcall(hand_over, quietly) end
  pcall(save)
end
