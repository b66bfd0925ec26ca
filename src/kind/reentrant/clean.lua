-- Entries that are over count no more: their handlers died, or their releases got lost, and other
-- entries of the owner keep the hold. What Redisson counts stays.
--
-- needs     drop has_mine leave now_ms owners save till
local ended = {}
for token, ends in pairs(till) do
  if token ~= '-' and ends < now_ms() then ended[#ended + 1] = token end
end
table.sort(ended)
for _, token in ipairs(ended) do
  if has_mine(owners[1]) then leave(token) else drop(token) end
end
if #ended > 0 then save() end
