-- Shared: ends what one.lua began: how all names are held, go on, and are given back.
--
-- provides  acquired each extend free is_held notify save
-- ends      the loop
-- wraps     extend free is_held notify save
-- needs     all hold_of place remove_waiter
all[place] = { is_held, free, hold_of, extend, notify, remove_waiter }
end
local function each(of)
  for at, one in ipairs(all) do
    if of(at, unpack(one)) then return true end
  end
end
local function is_held() return not each(function(_, is_held) return not is_held() end) end
local function acquired() return all[1][3](ARGV[2]) end
local function free() each(function(_, _, free) pcall(free) end) end
local function extend(ms)
  local left = 0
  each(function(_, _, _, _, extend) left = math.max(left, extend(ms)) end)
  return left
end
local function notify() each(function(_, _, _, _, _, notify) notify() end) end
-- That saves each.
local save = notify
