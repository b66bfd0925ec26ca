-- Once: tells all waiters when the holder is done, well or not. They ask, and get the result;
-- without a result, one of them gets the lock.
--
-- KEYS  6 the result; the channel has the same name
--
-- needs     HOLDER
if not HOLDER then redis.pcall('PUBLISH', KEYS[6], '0') end
