-- Shared: what the lock's keys have, as far as they are strings, by one command; and which key is
-- the first of the commands' own.
--
-- MGET says nothing of a key of another type. So whoever stores what it found missing does so with
-- NX. If that is refused, reading the key is the error WRONGTYPE.
--
-- provides  BEHIND DONE HOLDER KEPT NAMES WENT
-- needs     FENCE GONE NAME RECEIPT
local HOLDER, DONE, WENT, KEPT = unpack(redis.call('MGET', NAME, RECEIPT, GONE, FENCE))
local NAMES, BEHIND = { [NAME] = true }, 6
