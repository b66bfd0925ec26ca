-- Shared: a write leaves a receipt, "<session> <number> <earlier> <results>". So a repeat is
-- answered, and not run again. Earlier are the sessions that wrote before, each with its last
-- number: what they sent may still be on its way. The receipt lives while the client counts on it,
-- and as long as the lock, so that nothing that comes late runs twice.
--
-- provides  NUMBER RECEIPT_MS leave_receipt replay
-- needs     DONE RECEIPT
local SESSION, NUMBER = ARGV[3], tonumber(ARGV[4])
local RECEIPT_MS = 30000
local session, number, earlier, results
-- The reply if nothing is to run: the first reply for a repeat; "lost" for a straggler that a later
-- write overtook. The receipt of a repeat may have been replaced by a later session's write. Then
-- the reply says that it ran, and that it is not lost.
local function replay()
  session, number, earlier, results = string.match(DONE or '', '^(%S+) (%d+) (%S*) (.*)$')
  if session == SESSION then
    if tonumber(number) == NUMBER then
      -- Written again, so that a wait for replicas behind this waits for what the first request
      -- wrote.
      redis.pcall('PEXPIRE', RECEIPT, math.max(RECEIPT_MS, redis.call('PTTL', RECEIPT)))
      return { 1, ARGV[1], results }
    end
    if tonumber(number) > NUMBER then return { 0, ARGV[1] } end
  end
  for name, last in string.gmatch(earlier or '', '([^:,]+):(%d+)') do
    if name == SESSION and tonumber(last) >= NUMBER then return { tonumber(last) > NUMBER and 0 or -1, ARGV[1] } end
  end
end
local function leave_receipt(results, ms)
  -- Only the latest of many: 200 bytes hold a dozen.
  if session and session ~= SESSION then earlier = string.sub(session .. ':' .. number .. ',' .. earlier, 1, 200) end
  redis.call('SET', RECEIPT, table.concat({ SESSION, ARGV[4], earlier or '', results }, ' '), 'PX', ms)
end
