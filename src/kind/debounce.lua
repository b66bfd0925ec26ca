-- `Client::debounce(name, wait)`: a call arrives, waits, and asks whether it goes through.
-- - A burst begins with a call that comes while no call waits. A call goes through `wait` after it
--   came, but no later than the end of the burst, which is `max_wait` after its first call. A call
--   that comes before that time takes its place.
-- - A call whose time has come is not overtaken any more, whether it has asked or not. Otherwise
--   none would go through if calls come faster than answers. The next call begins a burst.
-- - A repeat counts as arriving when the first request did. The receipt tells it what the first was
--   told. An arrival whose call is already over, or given up, overtakes nobody.
-- - Too early: a client's clock may run fast. A call that asks too early is told how long it still
--   has to wait. After ten times that is an error, since a host's timers may end at once.
-- - Redis's clock is set back: a call that has waited by its own clock, and is told to wait for
--   longer than clocks drift, says so. Then it goes through, unless it was overtaken. The next call
--   has the burst end by its own `max_wait` at the latest.
-- - Not known: a call that asks over a minute too late, or asks a Redis that lost its data, is told
--   so. Its outcome is unknown: it may have overtaken others, and it did not go through.
-- - A last call that dies, or is dropped, while it waits: the calls that it overtook may have been
--   told already. So nobody does their work until the next call comes.
--
-- kind  debounce
--
-- script arrive: arrive
-- script settle: settle
-- script leave: leave

--- waiting
-- Where the calls of a burst are, and Redis's time.
--
-- WAITING is 'v1 <ends> <till> <calls>': when the burst that goes on ends at most; until when
-- something is known of a call of it; and the calls that are to go through, each as '<at>
-- <token>;', with when it may, and a '!' behind the token once it was told so. All times are ms by
-- Redis's clock. The calls are the last one of the burst that goes on, and those of bursts before
-- it of which something is known yet: 50 bytes for each burst of a minute, without a bound. Calls
-- that were overtaken are in it no more. RECEIPT is of one call: 'at <at>', 0 once it was told that
-- it was overtaken, or -1 once it was given up.
--
-- reply {-4, nonce}  another version of this library has stored it
--
-- provides  BEFORE CALLS ENDS KNOWN_MS NOW_MS RECEIPT STORED TILL WAITING
local KNOWN_MS = 60000
local WAITING, RECEIPT = KEYS[1], KEYS[2]
local STORED, BEFORE = unpack(redis.call('MGET', WAITING, RECEIPT))
local ENDS, TILL, CALLS = string.match(STORED or '', '^v1 (%d+) (%d+) (.*)$')
if STORED and not ENDS then
  if string.find(STORED, '^v%d+ ') then return { -4, ARGV[1] } end
  -- What another program keeps there stays. Of a string this is the error WRONGTYPE.
  redis.call('ZCARD', WAITING)
end
local TIME = redis.call('TIME')
local NOW_MS = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

--- arrive
-- Overtakes the call that is the last so far, and says how long to wait before it asks whether it
-- is the last yet.
--
-- KEYS  1 debounce · 2 receipt
-- ARGV  1 nonce · 2 token · 3 how long it is to be quiet, in ms · 4 how long a burst lasts at most,
--       in ms
-- reply {1, nonce, ms}  it waits that long
--       {-1, nonce}     a straggler: it was given up, or told already
--
-- Asking again is harmless: it arrived when it did so first. A call whose time has come is not
-- overtaken any more, whether it has asked or not. Otherwise none would go through where calls come
-- faster than answers. A clock that is set back makes neither the call nor the burst longer.
--
-- needs     BEFORE CALLS ENDS KNOWN_MS NOW_MS RECEIPT STORED TILL WAITING
if BEFORE then
  local at = tonumber(string.match(BEFORE, '^at (%d+)$'))
  if at and not string.find(CALLS or '', ARGV[2] .. '!', 1, true) then return { 1, ARGV[1], math.min(math.max(at - NOW_MS, 0), ARGV[3]) } end
  return { -1, ARGV[1] }
end
local goes_on, calls = false, {}
for at, token, is_told in string.gmatch(CALLS or '', '(%d+) ([^;!]+)(!?);') do
  if tonumber(at) > NOW_MS and is_told == '' then
    goes_on = true
  elseif tonumber(at) >= NOW_MS - KNOWN_MS then
    -- Nothing is known any more of those that never asked.
    calls[#calls + 1] = at .. ' ' .. token .. is_told .. ';'
  end
end
local ends = math.min(goes_on and tonumber(ENDS) or math.huge, NOW_MS + ARGV[4])
local at = math.min(NOW_MS + ARGV[3], ends)
local till = math.max(at + KNOWN_MS, TILL or 0)
local function integer(number) return string.format('%.0f', number) end
calls[#calls + 1] = integer(at) .. ' ' .. ARGV[2] .. ';'
local text = table.concat({ 'v1', integer(ends), integer(till), table.concat(calls) }, ' ')
-- First what a Redis that is full refuses. What has another type stays.
if not redis.call('SET', WAITING, text, STORED and 'XX' or 'NX', 'PX', till - NOW_MS) then redis.call('GET', WAITING) end
redis.call('SET', RECEIPT, 'at ' .. integer(at), 'PX', at - NOW_MS + KNOWN_MS)
return { 1, ARGV[1], at - NOW_MS }

--- settle
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

--- leave
-- Gives up a call that nobody waits for: it goes through no more, and an arrival that comes late
-- overtakes nobody.
--
-- KEYS  1 debounce · 2 receipt
-- ARGV  1 nonce · 2 token
-- reply {1, nonce}  it was to go through
--       {0, nonce}  it was not, or not yet there
--
-- needs     CALLS ENDS RECEIPT TILL WAITING
local GONE_MS = 60000
-- A full Redis refuses what needs memory until a script has written something else.
redis.call('PEXPIRE', RECEIPT, GONE_MS)
local calls = string.gsub(CALLS or '', '(%d+) ([^;!]+)!?;', function(_, token) return token == ARGV[2] and '' or nil end)
local was_last = CALLS and calls ~= CALLS
if was_last then redis.call('SET', WAITING, table.concat({ 'v1', ENDS, TILL, calls }, ' '), 'KEEPTTL') end
redis.call('SET', RECEIPT, '-1', 'PX', GONE_MS)
return { was_last and 1 or 0, ARGV[1] }
