-- Shared: several names that are locked at once. The parts of a mutex know one name; `each` lets
-- them know one after the other, in the order of KEYS, until `of` returns something. Outside of it
-- they know the first.
--
-- KEYS  7… name, fence, queue and alive of each other name; then gone once more, which no other key
--       can be
--
-- provides  each is_held
-- needs     ALIVE FENCE GONE NAME QUEUE
local names = { { NAME, FENCE, QUEUE, ALIVE } }
for at = 7, #KEYS, 4 do
  if KEYS[at] == GONE then break end
  names[#names + 1] = { unpack(KEYS, at, at + 3) }
end
local function each(of)
  local found
  for at, keys in ipairs(names) do
    NAME, FENCE, QUEUE, ALIVE = unpack(keys)
    found = of(at)
    if found then break end
  end
  NAME, FENCE, QUEUE, ALIVE = unpack(names[1])
  return found
end
local function is_held()
  return not each(function() return redis.pcall('GET', NAME) ~= ARGV[2] end)
end
