-- Shared: the reply if the lock is not this token's any more. An acquire of it that arrives late
-- must not take the lock again.
--
-- A server that writes nothing now can reply so nevertheless. A mark that a quorum's release has
-- left stays.
--
-- provides  lost
-- needs     GONE save
local function lost()
  redis.pcall('SET', GONE, '', 'PX', 60000, 'NX')
  pcall(save)
  return { 0, ARGV[1] }
end
