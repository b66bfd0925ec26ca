-- Gives back what this server has of a lock, and lets nothing that arrives late take it again.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue
-- ARGV  1 nonce · 2 token
-- reply {1, nonce, ''}  it was held, and is no longer
--       {0, nonce}      it was not held
--
-- The reply is kept for a repeat.
--
-- needs     GONE WENT free is_held
local held = WENT
if not held then
  held = is_held() and 'held' or ''
  if held ~= '' then free() end
  redis.call('SET', GONE, held, 'PX', 60000)
end
if held == '' then return { 0, ARGV[1] } end
return { 1, ARGV[1], '' }
