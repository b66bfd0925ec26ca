-- Shared: permits. What is not known here is another program's: redis-semaphore's is a sorted set
-- too, of since when each permit is held, so theirs come first. That is never free, and stays.
--
-- provides  delete free grant is_full is_held refuse_others suits
-- needs     HOLDERS MORE NAME add earliest hold_of holders_err integer is_many now_ms remove till
local is_theirs = holders_err or earliest and not hold_of(earliest)
local function is_held() return till[ARGV[2]] end
-- A caller with a lower number than others takes none from them. For one that waits for something
-- else, in the queue of a name that was a lock before, there is no permit.
local function suits(want) return tonumber(want) end
local function is_full(permits)
  local free = tonumber(permits) or 0
  if is_many then
    free = free - redis.call('ZCOUNT', HOLDERS, integer(now_ms()), '+inf')
  else
    for _ in pairs(till) do free = free - 1 end
  end
  return is_theirs or free <= 0
end
local function refuse_others()
  -- Of a sorted set, as theirs is, reading it as a string is the error WRONGTYPE.
  if is_theirs then redis.call(holders_err and 'ZCARD' or 'GET', NAME) end
end
local grant = add
local function free() remove(ARGV[2]) end
local function delete()
  redis.call('DEL', NAME, MORE)
  till, is_many = {}, false
end
