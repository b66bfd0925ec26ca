-- Once: tells all waiters when the holder is done, well or not. They ask, and get the result;
-- without a result, one of them gets the lock.
--
-- KEYS  7 the result; the channel has the same name
--
-- provides  delete notify release_one
-- needs     NAME
local function notify() redis.pcall('PUBLISH', KEYS[7], '0') end
local function delete()
  redis.call('DEL', NAME)
  notify()
end
local release_one = delete
