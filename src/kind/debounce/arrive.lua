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
