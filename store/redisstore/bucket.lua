-- The most frequent call: one claim on one token bucket, of an owner who has no
-- other. It does what the rest of the program would, with no more than one read
-- and one write; what is not so simple it hands over to that.
--
-- KEYS: one. ARGV: clock (empty: the server's), grace in ms, the cost, and how
-- the state of the limit begins. Answers with what is owed: after a grant, or
-- before a refusal, then as -1 - owed.
if not ARGV[5] then
  local call, now, terms = redis.call, ARGV[1], ARGV[4]
  if now == '' then
    local t = call('TIME')
    now = t[1] * 1000000 + t[2]
  else
    now = tonumber(now)
  end
  local unit, interval, cap = struct.unpack('>ddd', terms, 18)
  local word, at, v = 0, now, call('GET', KEYS[1])
  if v then
    if #v == 57 and string.sub(v, 1, 41) == terms then
      word, at = struct.unpack('>dd', v, 42)
    else
      at = now + 1 -- other limits, another version of this one, or no data of this program
    end
  end
  if at <= now then
    local refilled = (now - at) * unit
    if refilled < word then word = word - refilled else word = 0 end
    local owed = word + ARGV[3] * interval
    if owed > cap then return -1 - word end
    local ms = owed / unit / 1000
    call('SET', KEYS[1], terms .. struct.pack('>dd', owed, now), 'PX', ms - ms % 1 + 1 + ARGV[2])
    return owed
  end
  ARGV[5] = '\0\0\0\1' .. string.sub(terms, 2) .. struct.pack('>d', ARGV[3])
  ARGV[1], ARGV[3], ARGV[4] = now, '', ''
end
