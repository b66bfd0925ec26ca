-- Shared: what is wanted of each name, of 'a<limit>/<permits>;…' in the order of the names; and how
-- a waiter stands in the queue of one of them.
--
-- provides  waiter_at want_at
local function want_at(wants, place)
  for want in string.gmatch(wants, '[^a;]+') do
    place = place - 1
    if place == 0 then return want end
  end
end
local function waiter_at(waiter, place)
  return (string.gsub(waiter, '^(v1 %S+ %d+ %la)(%S+)', function(start, wants) return start .. want_at(wants, place) end))
end
