-- Shared: takes the name, and has the hold stored. What another program keeps under either key, in
-- another type, is told and stays; then neither is done. A record that is there is a string, so it
-- is stored last. A new one is stored first, and undone, with another key that the hold may need.
--
-- provides  take
-- needs     FENCE HOLDER KEPT NAME check_record prolong
local function take(token, ms, store, other)
  check_record()
  local kept = KEPT
  if not kept then store() end
  if HOLDER == token then
    prolong(NAME, ms)
  elseif not redis.call('SET', NAME, token, 'NX', 'PX', ms) then
    if not kept then redis.call('DEL', FENCE, other or FENCE) end
    redis.call('GET', NAME)
  end
  HOLDER = token
  if kept then store() end
end
