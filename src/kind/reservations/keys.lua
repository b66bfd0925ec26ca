-- Shared: of how many units it is known for ever that they are taken. This key has no expiry: a
-- unit must not be sold again because nobody asked for a week.
--
-- provides  CONFIRMED confirmed
local CONFIRMED = KEYS[7]
-- What is no number is another program's: reading it as a sorted set is the error WRONGTYPE.
local function confirmed() return tonumber(redis.call('GET', CONFIRMED) or 0) or redis.call('ZCARD', CONFIRMED) end
