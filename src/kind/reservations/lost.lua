-- Shared: the reply if a reservation is over: whether it was confirmed before, or came to nothing.
--
-- reply {-5, nonce, 'confirmed'}
--
-- provides  lost
-- wraps     lost
-- needs     WENT
local too_late = lost
local function lost()
  if WENT == 'confirmed' then return { -5, ARGV[1], WENT } end
  return too_late()
end
