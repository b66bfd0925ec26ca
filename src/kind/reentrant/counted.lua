-- Shared: who holds the lock, and how often, without the entries that are over. Whoever only looks
-- does not remove these, as clean.lua does.
--
-- provides  holder_and_count
-- needs     has_mine integer now_ms owners refuse_others till
local function holder_and_count()
  refuse_others()
  local holder, over = owners[1], 0
  for token, ends in pairs(till) do
    if token ~= '-' and ends < now_ms() and has_mine(holder) then over = over + 1 end
  end
  -- A count that no number here can have stays as it is.
  if over == 0 then return holder, owners[2] end
  if tonumber(owners[2]) > over then return holder, integer(owners[2] - over) end
end
