-- Shared: what the keys of several semaphores have, as far as they are strings.
--
-- KEYS  1 name · 2 receipt · 3 gone · 4 fence · 5 queue · 6 holds · 7… name, fence, queue and holds
--       of each other name; then gone once more, which no other key can be
--
-- provides  BEHIND DONE FOUND NAMES WENT all
-- needs     GONE
local BEHIND, NAMES, all = 7, {}, {}
while KEYS[BEHIND] ~= GONE do BEHIND = BEHIND + 4 end
local FOUND = redis.call('MGET', unpack(KEYS, 1, BEHIND - 1))
local DONE, WENT = FOUND[2], FOUND[3]
