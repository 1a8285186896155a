-- The most frequent loan: of a limit on tokens of an owner who has no other. It
-- does what the rest of the program would, without a function or a table; what
-- is not so simple it hands over. KEYS, ARGV and answers are those of the rest.
do
  local call, now, known, word, at = redis.call, ARGV[1], true, 0, 0
  if now == '' then
    local t = call('TIME')
    now = t[1] * 1000000 + t[2]
  else
    now = tonumber(now)
  end
  local id, unit, interval, cap, want, parts, least = struct.unpack('>c16dddddd', ARGV[3])
  local v = call('GET', KEYS[1])
  if v then
    known = #v == 57
    if known then
      local version, is
      version, is, word, at = struct.unpack('>Bc16xxxxxxxxxxxxxxxxxxxxxxxxdd', v)
      known = version == 1 and is == id and at <= now
    end
  end
  if known then
    local start, price = now - now % interval, 1
    if unit > 0 then
      price, start = interval, now
      local refilled = (now - at) * unit
      if refilled < word then word = word - refilled else word = 0 end
    elseif start > at then
      word = 0
    end
    local left = cap - word
    if left < 0 then left = 0 end
    left = (left - left % price) / price
    local lent = (left - left % parts) / parts
    if lent > want then lent = want end
    if lent < least then lent = 0 end
    word, left = word + lent * price, left - lent
    local after, handle = 0, start
    if unit > 0 then
      handle, after = word, word + unit - 1
      after = (after - after % unit) / unit
    elseif word > 0 then
      after = start + interval - now
    end
    if lent > 0 then
      local ms = after / 1000
      call('SET', KEYS[1], struct.pack('>Bc16ddddd', 1, id, unit, interval, cap, word, start), 'PX', ms - ms % 1 + 1 + ARGV[2])
    end
    return struct.pack('>Bddddd', lent > 0 and 1 or 0, left, 0, after, handle, lent)
  end
  ARGV[1] = now
end
