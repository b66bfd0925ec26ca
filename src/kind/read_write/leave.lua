-- Shared: removes a reader or the writer, or all of them.
--
-- provides  delete free
-- needs     HOLDER NAME is_many last_end remove says till
local function delete()
  redis.call('DEL', NAME)
  HOLDER, till, is_many = false, {}, false
end
local function free()
  if says('readers') then remove(ARGV[2]) end
  -- To others it is held until the last reader ends. Of a crowd, nobody may be left.
  local life = says('readers') and last_end() or '0'
  if life ~= '0' then
    redis.call('PEXPIRE', NAME, life)
  else
    redis.call('DEL', NAME)
    HOLDER = false
  end
end
