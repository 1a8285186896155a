-- Settles what one claim was granted; a slot is given back by a ZREM.
--
-- KEYS: one. ARGV: clock, grace in ms, what to do, the request's id, and the
-- limit with the figures of the return, in one record.
local what, id, l, key = ARGV[3], ARGV[4], {}, KEYS[1]
local tokens, handle, elapsed
l.id, l.fp, l.unit, l.interval, l.cap, tokens, handle, elapsed = unpack('>c8c8dddddd', ARGV[5])

if what == 'renew' then
  local ends = call('ZSCORE', key, id)
  if not ends or tonumber(ends) <= now then return 0 end
  call('ZADD', key, now + l.unit, id)
  last(key, l.unit)
  return 1
end

local o = load(key)
local c = find(o, l.id)
if what == 'charge' then
  c = state(o, l)
  if c.word == 0 then carry(c, l) end
  if c.unit > 0 then
    c.word = max(c.word, min(c.word + tokens * c.interval, 11 * c.cap, MOST))
  else
    c.word = c.word + min(tokens, max(0, c.cap - c.word))
  end
  save(o)
  return 1
end
if not c or c.word == 0 then return 0 end

-- remaining is what a bucket would still owe of the debt that the grant led to.
local function remaining() return handle - min(handle, elapsed * l.unit) end

local most, taken = c.word, now - elapsed
if what == 'reset' then
  c.word = 0
elseif what == 'any' then
  taken = now
elseif l.fp ~= c.fp and l.unit > 0 then -- whole tokens that have not refilled
  tokens = min(tokens, down(remaining(), l.interval))
elseif l.fp ~= c.fp then
  if now - handle >= l.interval then tokens = 0 end
elseif c.unit > 0 then
  most = remaining()
else
  taken = max(taken, handle)
end
if c.unit > 0 then
  c.word = c.word - min(c.word, most, tokens * c.interval)
elseif taken >= c.at and taken - c.at < c.interval then
  c.word = c.word - min(c.word, tokens)
end
save(o)
return 1
