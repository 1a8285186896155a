-- The next most frequent calls: a few limits on tokens of one owner, who has no
-- others, and a slot. It decides as the rest of the program would, but without a
-- function or a table for each: those would take as long as the reads and the
-- writes. Several that leave together share the call and its clock.
--
-- This is the pattern for one kind of them: <<...>> stands there for each limit
-- with its number for #, <-...-> if there is one, and <+...+> if there is a slot.
--
-- KEYS: of each the owner's, if it has limits here, and the set of slots. ARGV:
-- as of the rest, and for each further one its id and its claims. Answers with 1
-- after a grant, the clock, for each limit what is owed or used, and how many
-- slots are held: all of them after a grant, or before a refusal; where there
-- are several, in a table. What is not so simple is handed over to the rest or,
-- where there are several, answered with nothing, and nothing is written for it.
if ARGV[4] == '$WAY' then
  local call, ask, unpack, pack, number, answers = redis.call, redis.pcall, struct.unpack, struct.pack, tonumber, {}
  local now, grace, n = ARGV[1], ARGV[2], (#ARGV - 3) / 2
  if now == '' then
    local t = call('TIME')
    now = t[1] * 1000000 + t[2]
  else
    now = number(now)
  end
  ARGV[4] = ARGV[3] -- where the ids of the others lie
  <+
  local format, from, terms, ending, need, lasting = string.format, 0, 0, 0, 0, 0
  from = format('%.0f', now + 1) -- the server would write more digits of a number, and take longer
  +>
  for i = 1, n do
    local known, key, set = true, KEYS[$KEYS * i - $BEFORE], KEYS[$KEYS * i]
    local <<id#, unit#, interval#, cap#, cost#, >>lease, _, most = unpack('><<xxxxc16dddd>><+xxxxxxxxxxxxxxxxxxxxddd+>', ARGV[2 * i + 3])
    local <<word#, at#, >>held = <<0, 0, >>0
    <-
    local v = ask('GET', key)
    if v then
      known = #v == $SIZE -- an error has no length
      if known then
        local version<<, is#>>
        version, <<is#, word#, at#, >>_ = unpack('>B<<c16xxxxxxxxxxxxxxxxxxxxxxxxdd>>', v)
        known = version == 1<< and is# == id# and at# <= now>>
      end
    end
    ->
    <+
    if known then
      held = number(ask('ZCOUNT', set, from, '+inf')) -- an error is no number
      known = held
    end
    +>
    if known then
      local passes, longest, lasts = true, 0
      <<
      local after#
      if unit# > 0 then
        local refilled = (now - at#) * unit#
        if refilled < word# then word# = word# - refilled else word# = 0 end
        after#, at# = word# + cost# * interval#, now
        lasts = after# / unit#
      else
        local start = now - now % interval#
        if start > at# then word#, at# = 0, start end
        after#, lasts = word# + cost#, at# + interval# - now
      end
      if after# > cap# then passes = false end
      if lasts > longest then longest = lasts end
      >>
      <+
      if held >= most then passes = false end
      +>
      if passes then
        <-
        local ms = longest / 1000
        call('SET', key, pack('>B<<c16ddddd>>', 1<<, id#, unit#, interval#, cap#, after#, at#>>), 'PX', ms - ms % 1 + 1 + grace)
        ->
        <+
        if lease ~= terms then
          need = (lease + 999) / 1000
          need = need - need % 1 + grace
          terms, ending, lasting = lease, format('%.0f', now + lease), format('%.0f', need + grace)
        end
        local ends = call('PTTL', set)
        call('ZADD', set, ending, ARGV[2 * i + 2])
        if ends < need then
          if ends ~= -2 then call('ZREMRANGEBYSCORE', set, '-inf', now) end
          call('PEXPIRE', set, lasting)
        end
        held = held + 1
        +>
        answers[i] = pack('>Bd<<d>>d', 1, now, <<after#, >>held)
      else
        answers[i] = pack('>Bd<<d>>d', 0, now, <<word#, >>held)
      end
    else
      answers[i] = false
    end
  end
  if n > 1 then return answers end
  if answers[1] then return answers[1] end
  ARGV[1] = now
end
