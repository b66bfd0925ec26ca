-- Shared: several names that are locked at once. The parts of a mutex know one name; `each` lets
-- them know one after the other, in the order of KEYS, until `of` returns something. Outside of it
-- they know the first.
--
-- provides  each free is_held
-- needs     BEHIND FENCE HOLDER HOLDS IS_OURS KEPT LAST NAME OTHERS QUEUE WAITERS read_record
local states = { { NAME, FENCE, QUEUE, HOLDER, KEPT, LAST, HOLDS, WAITERS, IS_OURS } }
local function state() return { NAME, FENCE, QUEUE, HOLDER, KEPT, LAST, HOLDS, WAITERS, IS_OURS } end
local function enter(at) NAME, FENCE, QUEUE, HOLDER, KEPT, LAST, HOLDS, WAITERS, IS_OURS = unpack(states[at], 1, 9) end
for at = 6, BEHIND - 1, 3 do
  NAME, FENCE, QUEUE, HOLDER, KEPT = KEYS[at], KEYS[at + 1], KEYS[at + 2], OTHERS[at], OTHERS[at + 1]
  read_record()
  states[#states + 1] = state()
end
enter(1)
local function each(of)
  states[1] = state()
  local found
  for at = 1, #states do
    enter(at)
    found = of(at)
    states[at] = state()
    if found then break end
  end
  enter(1)
  return found
end
local mine = {}
each(function()
  if HOLDER == ARGV[2] then mine[#mine + 1] = NAME end
end)
local function is_held() return #mine == #states end
local function free()
  if #mine > 0 then redis.call('DEL', unpack(mine)) end
  each(function() HOLDER = HOLDER ~= ARGV[2] and HOLDER end)
end
