-- Shared: for how many ms nobody can have the lock, and the label of the writer, or of the reader
-- that ends last.
--
-- provides  in_the_way
-- needs     HOLDERS NAME hold_of
local function in_the_way()
  local _, _, label = hold_of(redis.call('ZRANGE', HOLDERS, -1, -1)[1] or redis.call('GET', NAME))
  return redis.call('PTTL', NAME), label
end
