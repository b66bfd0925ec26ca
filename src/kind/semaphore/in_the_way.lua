-- Shared: for how many ms a caller finds too few permits, and the label of the holder whose permit
-- ends then. If there are many holders with weights, it may ask too early: it looks at the first.
--
-- provides  in_the_way
-- needs     HOLDERS extra from_last hold_of integer is_many listed now_ms permits_in till weight_in
-- needs     weight_of
local function in_the_way(want)
  local place = permits_in(want) - weight_in(want) + 1
  local token, ends = from_last(place)
  if extra > 0 then
    local tokens = is_many and redis.call('ZRANGE', HOLDERS, 0, 15) or listed()
    local too_many = extra - place + (is_many and redis.call('ZCOUNT', HOLDERS, integer(now_ms()), '+inf') or #tokens)
    for _, one in ipairs(tokens) do
      token, too_many = one, too_many - weight_of(one)
      if too_many < 0 then break end
    end
    ends = till[token] or tonumber(redis.call('ZSCORE', HOLDERS, token))
  end
  return math.max(0, ends - now_ms()), select(4, hold_of(token))
end
