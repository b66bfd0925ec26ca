-- Shared: removes holders that have ended, as Redis does with keys. If its clock is set back later,
-- one must not come back that was told that its place is lost, or that gave it up. Who is not known
-- is another program's, and stays.
--
-- needs     ended hold_of remove save
for _, token in ipairs(ended) do
  if hold_of(token) then remove(token) end
end
if ended[1] then save() end
