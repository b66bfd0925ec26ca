-- Gives back what this server has of a lock, and lets nothing that arrives late take it again.
--
-- KEYS  1 name · 2 receipt · 3 fence · 4 queue · 5 alive · 6 gone
-- ARGV  1 nonce · 2 token
-- reply {1, nonce, ''}  it was held, and is no longer
--       {0, nonce}      it was not held
--
-- The reply is kept for a repeat.
--
-- needs     GONE NAME is_held
local held = redis.call('GET', GONE)
if not held then
  held = is_held() and 'held' or ''
  if held ~= '' then redis.call('DEL', NAME) end
  redis.call('SET', GONE, held, 'PX', 60000)
end
if held == '' then return { 0, ARGV[1] } end
return { 1, ARGV[1], '' }
