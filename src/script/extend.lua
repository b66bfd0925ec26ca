-- Shared: what a mutex was acquired for, and how its hold goes on.
local function acquired() return hold_of(ARGV[2]) end
local function extend(ms)
  prolong(NAME, ms)
  prolong(FENCE, FENCE_MS + ms)
end
