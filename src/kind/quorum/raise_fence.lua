-- Shared: keeps the fence that the majority issued, and makes every later one of this server
-- higher.
--
-- provides  raise_fence
-- needs     LAST check_record integer keep
local function raise_fence(fence, ttl, label)
  check_record()
  keep(integer(math.max(LAST or 0, fence)), ARGV[2], fence, ttl, label)
end
