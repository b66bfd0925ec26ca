-- Shared: permits as a sorted set under the name itself, token → until when.
--
-- provides  HOLDERS HOLDS
-- needs     NAME
local HOLDERS, HOLDS = NAME, KEYS[7]
