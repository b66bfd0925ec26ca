-- Shared: of how many units it is known for ever that they are taken. This key has no expiry: a
-- unit must not be sold again because nobody asked for a week.
--
-- provides  CONFIRMED confirmed
local CONFIRMED = KEYS[7]
-- What is no such number is another program's: reading it as a sorted set is the error WRONGTYPE.
local function confirmed()
  local number = redis.call('GET', CONFIRMED) or '0'
  return #number < 16 and not string.find(number, '%D') and tonumber(number) or redis.call('ZCARD', CONFIRMED)
end
