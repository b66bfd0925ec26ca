-- Once: a stored result answers everybody who asks for the lock. It is '<mark> <result>'.
--
-- The mark says what was asked for. It is empty, or 'once:' and a fingerprint. It is also the
-- holder's label, so that it is known while the work runs. Only a caller with a fingerprint can
-- tell that another's differs.
--
-- KEYS  6 the result
-- ARGV  7 mark
-- reply {2, nonce, RESP of the result}  it was executed
--       {-3, nonce}                     something else was, or is being, under the same key
--
-- needs     HOLDER hold_of resp
local mark, kept = string.match(redis.call('GET', KEYS[6]) or '', '^(%S*) (.*)$')
mark = mark or HOLDER and select(4, hold_of(HOLDER)) or ''
if string.find(mark, '^once:') and string.find(ARGV[7], '^once:') and mark ~= ARGV[7] then return { -3, ARGV[1] } end
if kept then return { 2, ARGV[1], resp(kept) } end
