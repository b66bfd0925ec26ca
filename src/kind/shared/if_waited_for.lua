-- Shared: begins what is done only if somebody waits. In every run Lua makes each function of a
-- script anew, so turns that nobody waits for do without those of the queue.
--
-- begins    a branch
-- needs     WAITERS
if WAITERS ~= '' then
