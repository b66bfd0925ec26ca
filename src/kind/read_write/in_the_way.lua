-- Shared: for how many ms nobody can have the lock, and the label of the writer, or of the reader
-- that ends last.
--
-- provides  in_the_way
-- needs     HOLDER NAME from_last hold_of
local function in_the_way() return redis.call('PTTL', NAME), select(4, hold_of(from_last(1) or HOLDER)) end
