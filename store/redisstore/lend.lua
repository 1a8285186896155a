-- Lends a part of what is left of one limit on tokens.
--
-- KEYS: one. ARGV: clock, grace in ms, and the limit with what is wanted, into
-- how many parts what is left is divided, and the least to lend, in one record.
-- Answers in a record of 41 bytes: that of a claim, and how many tokens.
local l, want, parts, least = {key = KEYS[1]}, 0, 0, 0
l.id, l.fp, l.unit, l.interval, l.cap, want, parts, least = unpack('>c8c8dddddd', ARGV[3])

local o = load(l.key)
local c = state(o, l)
local changed = c.fp ~= l.fp
changed = carry(c, l) and changed or o.changed

-- left is how many tokens there are.
local function left()
  local room = c.cap - min(c.word, c.cap)
  if c.unit > 0 then return down(room, c.interval) end
  return room
end

local lent = min(want, down(left(), parts))
if lent < least then lent = 0 end
if lent > 0 then
  changed = true
  if c.unit > 0 then c.word = c.word + lent * c.interval else c.word = c.word + lent end
end
if changed then save(o) end
local handle = c.at
if c.unit > 0 then handle = c.word end
return pack('>Bddddd', lent > 0 and 1 or 0, left(), 0, reset(c), handle, lent)
