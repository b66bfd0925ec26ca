-- The user's commands, and those that only read.
--
-- script read: read

--- resp
-- Runs the user's commands, and writes their replies as RESP2 text.
--
-- Bridges lose bytes that are not UTF-8, NULs, nested arrays and nils. So the replies travel as one
-- string of printable ASCII: every other byte, and the percent sign, stands as %XX. Lengths count
-- the bytes before that.
--
-- A script gets an integer as a double, which is exact below 2^53. A larger one is marked by a
-- comma, unless its digits are read again where the command has stored them.
--
-- provides  ROOM resp run
local function line(mark, text)
  return mark .. string.gsub(text, '[^ -$&-~]', function(byte) return string.format('%%%02X', string.byte(byte)) end) .. string.char(13, 10)
end
local function resp(reply)
  local kind = type(reply)
  if kind == 'number' then return line(math.abs(reply) < 2 ^ 53 and ':' or ',', string.format('%.0f', reply)) end
  if kind == 'string' then return line('$', #reply) .. line('', reply) end
  if not reply then return line('$', -1) end
  if reply.err then return line('-', reply.err) end
  if reply.ok then return line('+', reply.ok) end
  local parts = { line('*', #reply) }
  for i = 1, #reply do parts[i + 1] = resp(reply[i]) end
  return table.concat(parts)
end
-- What is written stays within what a client reads, as JSON, which escapes a few characters. A
-- longer reply is left out, and so is one for which those before it leave no room: each is an error
-- in its place.
local MOST = 2 ^ 20 - 4096
local ROOM = MOST
local function left_out(took) return line('-', 'reply over 1 MiB' .. (took > MOST and '' or ', with others')) end
-- What the longer one of these takes. So much is kept free for each command: a thousand of them
-- must not make the answer too long.
local LEFT_OUT = 34
-- ARGV[at…], up to ARGV[till] if it is given: for each command the number of its words, then the
-- words. INCR, DECR, INCRBY, DECRBY and HINCRBY leave behind what they reply. With `room` the
-- results go behind others, which have left that much; ROOM is what is left in the end.
local function run(at, till, room)
  local replies = {}
  if not room then
    local each = at
    room = MOST
    while ARGV[each] do
      each = each + ARGV[each] + 1
      room = room - LEFT_OUT
    end
  end
  while at ~= till and ARGV[at] do
    local last = at + ARGV[at]
    room = room + LEFT_OUT
    local reply = redis.pcall(unpack(ARGV, at + 1, last))
    local text = type(reply) == 'string' and #reply > room and #reply > LEFT_OUT and left_out(#reply) or resp(reply)
    local hash = string.find(text, '^,') and string.match(string.upper(ARGV[at + 1]), '^(H?)[ID][NE]CR')
    local exact = hash and redis.pcall(hash .. 'GET', unpack(ARGV, at + 2, at + 2 + #hash))
    if exact and tonumber(exact) == reply then text = line(':', exact) end
    local took = #text + select(2, string.gsub(text, '[%c!-#Z-^]', ''))
    if took > room and took > LEFT_OUT then
      text = left_out(took)
      took = LEFT_OUT
    end
    room = room - took
    replies[#replies + 1] = text
    at = last + 1
  end
  ROOM = room
  return table.concat(replies)
end

--- read
-- Runs commands that only read, as one.
--
-- KEYS  1… keys of the reads
-- ARGV  1 nonce · 2… reads
-- reply {1, nonce, results}
--
-- needs     run
return { 1, ARGV[1], run(2) }
