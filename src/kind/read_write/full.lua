-- Shared: whether there is no room: for a reader beside others there is.
--
-- provides  is_full
-- needs     NAME says
local function is_full(want) return redis.call('EXISTS', NAME) > 0 and not (want == 'r' and says('readers')) end
