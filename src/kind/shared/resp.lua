-- Shared: runs the user's commands, and writes their replies as RESP2 text.
--
-- Bridges lose bytes that are not UTF-8, NULs, nested arrays and nils. So the replies travel as one
-- string of printable ASCII: every other byte, and the percent sign, stands as %XX. Lengths count
-- the bytes before that.
--
-- provides  resp run
local function line(mark, text)
  return mark .. string.gsub(text, '[^ -$&-~]', function(byte) return string.format('%%%02X', string.byte(byte)) end) .. string.char(13, 10)
end
local function resp(reply)
  local kind = type(reply)
  if kind == 'number' then return line(':', string.format('%.0f', reply)) end
  if kind == 'string' then return line('$', #reply) .. line('', reply) end
  if not reply then return line('$', -1) end
  if reply.err then return line('-', reply.err) end
  if reply.ok then return line('+', reply.ok) end
  local parts = { line('*', #reply) }
  for i = 1, #reply do parts[i + 1] = resp(reply[i]) end
  return table.concat(parts)
end
-- ARGV[at…]: for each command the number of its words, then the words.
local function run(at)
  local replies = {}
  while ARGV[at] do
    local last = at + ARGV[at]
    replies[#replies + 1] = resp(redis.pcall(unpack(ARGV, at + 1, last)))
    at = last + 1
  end
  return table.concat(replies)
end
