-- Says who holds permits of any of the names, and for how long; the highest fence that was issued;
-- how many wait for the name that most wait for; and for how many more leases there is room.
-- Changes nothing.
--
-- KEYS  as look.lua has them
-- ARGV  1 nonce · 2 what is wanted of each name
-- reply {1, nonce, RESP as of semaphore/inspect.lua, with each holder once, and how many permits it
--                  has of the first name of which it has any}
--
-- ends      the loop
-- needs     all hold_of known listed now_ms permits_in place refuse_others resp till waiting
-- needs     want_at weight_in weight_of
refuse_others()
local want = want_at(ARGV[2], place)
local room, holders, fence = permits_in(want), all.holders or {}, known()
for _, token in ipairs(listed()) do
  room = room - weight_of(token)
  if not all[token] then holders[#holders + 1] = { token, till[token] - now_ms(), select(4, hold_of(token)), weight_of(token) } end
  all[token] = true
end
all[place], all.holders = place, holders
all.room = math.min(all.room or math.huge, math.max(0, math.floor(room / weight_in(want))))
-- Of as many digits each.
if fence and (not all.fence or fence > all.fence) then all.fence = fence end
all.most = math.max(all.most or 0, waiting())
end
return { 1, ARGV[1], resp(false) .. resp(0) .. resp(-2) .. resp(all.fence) .. resp(all.most) .. resp(0) .. resp(all.holders) .. resp(all.room) }
