-- Lets a call through whose time has come, unless another overtook it.
--
-- KEYS  1 debounce · 2 receipt
-- ARGV  1 nonce · 2 token · 3 1 if its time is over by its own clock: then this one was set back
-- reply {1, nonce}      it goes through
--       {0, nonce}      another came after it, and waits in its place
--       {2, nonce, ms}  its time has not come, and will after that long
--       {-1, nonce}     nothing is known of it: it asked too late, or Redis lost its data
--
-- A repeat is told the same.
--
-- needs     BEFORE CALLS ENDS KNOWN_MS NOW_MS RECEIPT TILL WAITING
-- A full Redis refuses what needs memory until a script has written something else.
local function store(...)
  if redis.pcall('SET', ...).err then
    redis.call('PEXPIRE', RECEIPT, KNOWN_MS)
    redis.call('SET', ...)
  end
end
if BEFORE == '0' then return { 0, ARGV[1] } end
-- CALLS are there for as long as any call of its burst is known.
if BEFORE == '-1' or not BEFORE or not CALLS then return { -1, ARGV[1] } end
local at, is_told
for ends, token, told in string.gmatch(CALLS, '(%d+) ([^;!]+)(!?);') do
  if token == ARGV[2] then at, is_told = tonumber(ends), told == '!' end
end
if is_told then return { 1, ARGV[1] } end
if not at then
  store(RECEIPT, '0', 'PX', KNOWN_MS)
  return { 0, ARGV[1] }
end
if at > NOW_MS and ARGV[3] ~= '1' then return { 2, ARGV[1], at - NOW_MS } end
local calls = string.gsub(CALLS, '([^ ]+);', function(token) return token == ARGV[2] and token .. '!;' or nil end)
store(WAITING, table.concat({ 'v1', ENDS, TILL, calls }, ' '), 'KEEPTTL')
return { 1, ARGV[1] }
