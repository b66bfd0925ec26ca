-- Shared: whether there is no room. A reader has room beside other readers.
--
-- provides  is_full
-- needs     NAME says
local function is_full(want) return redis.call('EXISTS', NAME) > 0 and not (want == 'r' and says('readers')) end
