-- Once: what is kept of an operation that was executed answers whoever asks for the lock. It is '<mark> <result>'.
--
-- The mark says what was asked for: it is empty, or 'once:' and a fingerprint. It is the holder's label too, so that it is known while the
-- work is under way. Only who has a fingerprint can tell that another has a different one.
--
-- KEYS  7 what is kept
-- ARGV  7 mark
-- reply {2, nonce, RESP of the result}  it was executed
--       {-3, nonce}                     something else was, or is being, under the same key
--
-- needs     NAME hold_of resp
local mark, kept = string.match(redis.call('GET', KEYS[7]) or '', '^(%S*) (.*)$')
local _, _, label = hold_of(redis.call('GET', NAME))
mark = mark or label or ''
if string.find(mark, '^once:') and string.find(ARGV[7], '^once:') and mark ~= ARGV[7] then return { -3, ARGV[1] } end
if kept then return { 2, ARGV[1], resp(kept) } end
