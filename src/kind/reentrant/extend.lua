-- Shared: extends the hold of a reentrant lock, for an entry of this caller. Another entry may need
-- it for longer.
--
-- provides  enter extend
-- needs     ENTRY HOLDS NAME OWNER drop hold_of integer now_ms prolong prolong_record save till
-- needs     word
local function add(token, fence, ttl, ms)
  local ends = math.max(till[token] or 0, now_ms() + ms)
  drop(token)
  till[token] = ends
  HOLDS = table.concat({ HOLDS, token, ' ', fence, ' ', ttl, ' ', integer(ends), ' ', word(OWNER), ';' })
end
local function enter(fence, ttl, ms)
  add('-', fence, ttl, ms)
  add(ENTRY, fence, ttl, ms)
end
local function extend(ms)
  local fence, ttl = hold_of(ENTRY)
  local left = prolong(NAME, ms)
  enter(fence, ttl, ms)
  save()
  prolong_record(ms)
  return left
end
