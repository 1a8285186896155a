-- The next most frequent calls: a few limits on tokens of one owner, who has no
-- others, and a slot. It decides as the rest of the program would, but without a
-- function or a table: those would take as long as the reads and the writes.
-- What is not so simple it hands over.
--
-- This is the pattern for one such call: <<...>> stands there for each limit
-- with its number for #, <-...-> if there is one, and <+...+> if there is a slot.
--
-- KEYS: the owner's, if it has limits here, and the set of slots. ARGV: as of
-- the rest. Answers with 1 after a grant, the clock, for each limit what is owed
-- or used, and how many slots are held: all of them after a grant, or before a
-- refusal.
if ARGV[4] == '$WAY' then
  local call, unpack, pack, now, known = redis.call, struct.unpack, struct.pack, ARGV[1], true
  if now == '' then
    local t = call('TIME')
    now = t[1] * 1000000 + t[2]
  else
    now = tonumber(now)
  end
  local <<id#, unit#, interval#, cap#, cost#, >>lease, _, most = unpack('><<xxxxc16dddd>><+xxxxxxxxxxxxxxxxxxxxddd+>', ARGV[5])
  local <<word#, at#, >>held = <<0, 0, >>0
  <-
  local v = call('GET', KEYS[1])
  if v then
    known = #v == $SIZE
    if known then
      local version<<, is#>>
      version, <<is#, word#, at#, >>_ = unpack('>B<<c16xxxxxxxxxxxxxxxxxxxxxxxxdd>>', v)
      known = version == 1<< and is# == id# and at# <= now>>
    end
  end
  ->
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
    local ends = call('PTTL', KEYS[$SET])
    if ends ~= -2 then held = call('ZCOUNT', KEYS[$SET], now + 1, '+inf') end
    if held >= most then passes = false end
    +>
    if not passes then return pack('>Bd<<d>>d', 0, now, <<word#, >>held) end
    <-
    local ms = longest / 1000
    call('SET', KEYS[1], pack('>B<<c16ddddd>>', 1<<, id#, unit#, interval#, cap#, after#, at#>>), 'PX', ms - ms % 1 + 1 + ARGV[2])
    ->
    <+
    call('ZADD', KEYS[$SET], now + lease, ARGV[3])
    local need = (lease + 999) / 1000
    need = need - need % 1 + ARGV[2]
    if ends < need then
      if ends ~= -2 then call('ZREMRANGEBYSCORE', KEYS[$SET], '-inf', now) end
      call('PEXPIRE', KEYS[$SET], need + ARGV[2])
    end
    held = held + 1
    +>
    return pack('>Bd<<d>>d', 1, now, <<after#, >>held)
  end
  ARGV[1] = now
end
