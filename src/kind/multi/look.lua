-- Shared: what the keys of several names have, as far as they are strings, as look.lua has it.
--
-- KEYS  6… name, fence and queue of each other name; then gone once more, which no other key can be
--
-- provides  BEHIND DONE HOLDER KEPT NAMES OTHERS WENT
-- needs     GONE
local BEHIND = 6
while KEYS[BEHIND] ~= GONE do BEHIND = BEHIND + 3 end
local OTHERS = redis.call('MGET', unpack(KEYS, 1, BEHIND - 1))
local HOLDER, DONE, WENT, KEPT = unpack(OTHERS, 1, 4)
local NAMES = { [KEYS[1]] = true }
for at = 6, BEHIND - 1, 3 do NAMES[KEYS[at]] = true end
