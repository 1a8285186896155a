-- Claims on one token bucket each, of owners who have no other, that leave
-- together: they share the call and the clock, which take longer than a bucket.
--
-- KEYS: the owners'. ARGV: clock (empty: the server's), grace in ms, 'together',
-- and for each key the cost and how the state of the limit begins. Answers for
-- each as bucket.lua does; with nothing, and nothing is written, where it would
-- hand over.
if ARGV[3] == 'together' then
  local call, pcall, now, grace, answer = redis.call, redis.pcall, ARGV[1], ARGV[2], {}
  local unpack, pack, sub = struct.unpack, struct.pack, string.sub
  if now == '' then
    local t = call('TIME')
    now = t[1] * 1000000 + t[2]
  else
    now = tonumber(now)
  end
  for i = 1, #KEYS do
    local key, terms = KEYS[i], ARGV[2 * i + 3]
    local word, at, v = 0, now, pcall('GET', key)
    if v then
      if #v == 57 and sub(v, 1, 41) == terms then -- an error has no length
        word, at = unpack('>dd', v, 42)
      else
        at = now + 1
      end
    end
    if at <= now then
      local unit, interval, cap = unpack('>ddd', terms, 18)
      local refilled = (now - at) * unit
      if refilled < word then word = word - refilled else word = 0 end
      local owed = word + ARGV[2 * i + 2] * interval
      if owed > cap then
        answer[i] = -1 - word
      else
        local ms = owed / unit / 1000
        call('SET', key, terms .. pack('>dd', owed, now), 'PX', ms - ms % 1 + 1 + grace)
        answer[i] = owed
      end
    else
      answer[i] = false
    end
  end
  return answer
end
