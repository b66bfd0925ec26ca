-- Shared: permits are a sorted set under the name itself.
--
-- provides  HOLDERS IS_SHARED MORE
-- needs     NAME
local HOLDERS, MORE, IS_SHARED = NAME, KEYS[6], true
