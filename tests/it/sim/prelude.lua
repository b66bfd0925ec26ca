-- What Redis gives a script, and nothing else; `raw` runs a command on the model.
local raw = ...
local allowed = {}
for _, name in ipairs({
  '_G', '_VERSION', 'assert', 'error', 'getmetatable', 'ipairs', 'load', 'loadstring', 'math', 'next', 'pairs', 'pcall', 'rawequal',
  'rawget', 'rawset', 'select', 'setmetatable', 'string', 'table', 'tonumber', 'tostring', 'type', 'unpack', 'xpcall',
}) do
  allowed[name] = true
end
for name in pairs(_G) do
  if not allowed[name] then _G[name] = nil end
end
local rawset, pcall, type, tostring, error = rawset, pcall, type, tostring, error
local globals = _G
redis = {
  pcall = raw,
  call = function(...)
    local reply = raw(...)
    if type(reply) == 'table' and reply.err then error(reply, 0) end
    return reply
  end,
}
setmetatable(globals, {
  __index = function(_, name) error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2) end,
  __newindex = function() error('Attempt to modify a readonly table', 2) end,
})
return function(script, digest, keys, argv)
  rawset(globals, 'KEYS', keys)
  rawset(globals, 'ARGV', argv)
  local ok, reply = pcall(script)
  if ok then return reply end
  if type(reply) ~= 'table' then reply = { err = 'ERR ' .. tostring(reply) } end
  -- Which line it was, the model does not tell.
  return { err = reply.err .. ' script: ' .. digest .. ', on @user_script:1.' }
end
