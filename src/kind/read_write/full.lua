-- Shared: whether there is no room, and who can be given it. A reader has room beside other
-- readers.
--
-- provides  is_full suits
-- needs     NAME says
local function is_full(want) return redis.call('EXISTS', NAME) > 0 and not (want == 'r' and says('readers')) end
local function suits(want) return want == '' or want == 'r' end
