-- Shared: how a permit is taken and given back.
--
-- provides  delete free grant
-- needs     MORE NAME add extra is_many remove till
local grant = add
local function free() remove(ARGV[2]) end
local function delete()
  redis.call('DEL', NAME, MORE)
  till, is_many, extra = {}, false, 0
end
