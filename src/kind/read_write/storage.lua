-- Shared: a lock that one writer has, or that readers share. The writer is stored as the holder of
-- a mutex.
--
-- provides  is_full is_held suits
-- needs     HOLDER says till
local function is_held() return says(ARGV[2]) or till[ARGV[2]] end
-- A reader has room beside other readers.
local function is_full(want) return HOLDER and not (want == 'r' and says('readers')) end
local function suits(want) return want == '' or want == 'r' end
