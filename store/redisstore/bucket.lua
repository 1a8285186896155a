-- The most frequent call: a claim on one token bucket, of an owner who has no
-- other, or several such that leave together and share the call and its clock.
-- Each does what the rest of the program would, with no more than one read and
-- one write; what is not so simple is handed over to that or, where there are
-- several, answered with nothing, and nothing is written for it.
--
-- KEYS: of each the owner's. ARGV: clock (empty: the server's), grace in ms, and
-- of each the cost and how the state of the limit begins, so that their number
-- is even. Answers with what is owed: after a grant, or before a refusal, then
-- as -1 - owed; where there are several, in a table.
if #ARGV % 2 == 0 then
  local call, ask, now, grace, answers = redis.call, redis.pcall, ARGV[1], ARGV[2], {}
  local unpack, pack, sub = struct.unpack, struct.pack, string.sub
  if now == '' then
    local t = call('TIME')
    now = t[1] * 1000000 + t[2]
  else
    now = tonumber(now)
  end
  for i = 1, #KEYS do
    local key, cost, terms = KEYS[i], ARGV[2 * i + 1], ARGV[2 * i + 2]
    local word, at, v = 0, now, ask('GET', key)
    if v then
      if #v == 57 and sub(v, 1, 41) == terms then -- an error has no length
        word, at = unpack('>dd', v, 42)
      else
        at = now + 1 -- other limits, another version of this one, or no data of this program
      end
    end
    if at <= now then
      local unit, interval, cap = unpack('>ddd', terms, 18)
      local refilled = (now - at) * unit
      if refilled < word then word = word - refilled else word = 0 end
      local owed = word + cost * interval
      if owed > cap then
        answers[i] = -1 - word
      else
        local ms = owed / unit / 1000
        call('SET', key, terms .. pack('>dd', owed, now), 'PX', ms - ms % 1 + 1 + grace)
        answers[i] = owed
      end
    else
      answers[i] = false
    end
  end
  if #KEYS > 1 then return answers end
  if answers[1] then return answers[1] end
  ARGV[5] = '\0\0\0\1' .. sub(ARGV[4], 2) .. pack('>d', ARGV[3])
  ARGV[1], ARGV[3], ARGV[4] = now, '', ''
end
