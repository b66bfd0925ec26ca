-- Shared: a record of another version is refused, of whichever name.
--
-- reply {-4, nonce}
--
-- needs     each is_unknown
if each(is_unknown) then return { -4, ARGV[1] } end
