-- Shared: a record of another version is refused.
--
-- reply {-4, nonce}
--
-- needs     is_unknown
if is_unknown() then return { -4, ARGV[1] } end
