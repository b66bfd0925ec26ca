-- Shared: room that is kept for waiters for several limits. Who holds such a permit could else take
-- it again right behind each release, since a waiter is not handed it, and must ask. So a waiter
-- that came 2 s ago finds what it was told of, if it asks within a second. Others find that much
-- less.
--
-- provides  KEPT_MS besides_kept
-- needs     WAITER WAITERS now_ms permits_in weight_in
local KEPT_MS = 1000
local function besides_kept(want)
  local weight = weight_in(want)
  for told, came, waiter in string.gmatch(WAITERS, '%d+ (%d+) (%d+) ([^,]*),') do
    local its = string.match(waiter, '^v1 %S+ %d+ %la(%d%S*)')
    local ago = its and waiter ~= WAITER and now_ms() - told
    if ago and ago >= 0 and ago < KEPT_MS and now_ms() - came > 2000 then weight = weight + weight_in(its) end
  end
  return permits_in(want) .. '/' .. weight
end
