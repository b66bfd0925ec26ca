-- Shared: runs the piggybacked commands and writes their replies as RESP2 text.
--
-- Bridges lose bytes that are not UTF-8, NULs, nested arrays and nils, so the replies travel as one string of
-- printable ASCII: every other byte, and the percent sign, stands as %XX. Lengths count the bytes before that.
--
-- provides  resp run
local CRLF = string.char(13, 10)
local function escaped(text)
  return (string.gsub(text, '[^ -$&-~]', function(byte) return string.format('%%%02X', string.byte(byte)) end))
end
local function resp(reply)
  local kind = type(reply)
  if kind == 'number' then return string.format(':%.0f', reply) .. CRLF end
  if kind == 'string' then return '$' .. #reply .. CRLF .. escaped(reply) .. CRLF end
  if kind ~= 'table' then return '$-1' .. CRLF end
  if reply.err then return '-' .. escaped(reply.err) .. CRLF end
  if reply.ok then return '+' .. escaped(reply.ok) .. CRLF end
  local parts = { '*' .. #reply .. CRLF }
  for i = 1, #reply do parts[i + 1] = resp(reply[i]) end
  return table.concat(parts)
end
-- ARGV[at…]: for each command the number of its words, then the words.
local function run(at)
  local replies = {}
  while ARGV[at] do
    local words = tonumber(ARGV[at])
    replies[#replies + 1] = resp(redis.pcall(unpack(ARGV, at + 1, at + words)))
    at = at + words + 1
  end
  return table.concat(replies)
end
