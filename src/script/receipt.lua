-- Shared: a write leaves a receipt, "<session> <number> <results>", so that a repeat is answered and not run again.
local SESSION, NUMBER = ARGV[3], tonumber(ARGV[4])
local RECEIPT_MS = 30000
-- What to answer without running anything: the first reply to a repeat, "lost" to a straggler that a later write overtook.
local function answered()
  local session, number, results = string.match(redis.call('GET', RECEIPT) or '', '^(%S+) (%d+) (.*)$')
  if session ~= SESSION or tonumber(number) < NUMBER then return nil end
  if tonumber(number) == NUMBER then return { 1, ARGV[1], results } end
  return { 0, ARGV[1] }
end
local function leave_receipt(results)
  redis.call('SET', RECEIPT, SESSION .. ' ' .. ARGV[4] .. ' ' .. results, 'PX', RECEIPT_MS)
end
