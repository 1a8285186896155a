-- What all scripts share: how the state of one owner lies in a string, and the
-- arithmetic of limits on tokens. Times are whole microseconds, and all figures
-- are whole numbers below 2^53, so doubles hold them exactly.
--
-- A token bucket counts in units: a microsecond has unit of them and a token
-- interval; word is what is owed, at the moment at. A fixed window has unit 0:
-- interval is its length, cap its limit, word what was used, at its start.
local fmod, min, max = math.fmod, math.min, math.max
local BEHIND = 1000000 -- how far a clock may be behind before it counts as set back
local RECORD, SIZE = '>c8c8ddddd', 56

local function clock(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

local function down(a, b) return (a - fmod(a, b)) / b end

local function up(a, b)
  local rem = fmod(a, b)
  local whole = (a - rem) / b
  if rem > 0 then return whole + 1 end
  return whole
end

-- age brings a state to a moment, and reports whether the clock was set back.
local function age(c, now)
  if c.unit > 0 then
    if now >= c.at then
      c.word, c.at = c.word - min(c.word, (now - c.at) * c.unit), now
    elseif c.at - now > BEHIND then
      c.word, c.at = min(c.word, c.cap), now
      return true
    end
    return false
  end
  local start = now - fmod(now, c.interval)
  if start > c.at or c.word == 0 then
    c.word, c.at = 0, start
  elseif c.at - now > BEHIND then
    c.at = start
    return true
  end
  return false
end

-- scale is word * to / from, rounded up, and by two more where a product is
-- not exact.
local function scale(word, to, from)
  local rem = fmod(word, from)
  local product = rem * to
  local part = up(product, from)
  if product > 9007199254740992 then part = part + 2 end
  return (word - rem) / from * to + part
end

-- carry makes a state that of another limit: what is spent stays spent.
local function carry(c, l, now)
  if c.fp == l.fp then return end
  if c.unit > 0 and l.unit > 0 then
    if c.unit ~= l.unit or c.interval ~= l.interval then
      c.word = scale(c.word, l.interval, c.interval)
    end
    c.word = min(c.word, l.cap)
  else
    local spent = c.word
    if c.unit > 0 then spent = up(min(spent, c.cap), c.interval) end
    if l.unit > 0 then
      c.word, c.at = min(spent * l.interval, l.cap), now
    else
      c.word, c.at = spent, now - fmod(now, l.interval)
    end
  end
  c.fp, c.unit, c.interval, c.cap = l.fp, l.unit, l.interval, l.cap
end

-- reset is how long until a state is as if never used.
local function reset(c, now)
  if c.word == 0 then return 0 end
  if c.unit > 0 then return up(c.word, c.unit) + max(0, c.at - now) end
  return c.at + c.interval - now
end

-- load reads the states of one owner, by the ids of their limits, and brings
-- them to a moment.
local function load(key, now)
  local owner = {key = key, order = {}, states = {}}
  local v = redis.call('GET', key)
  if not v then return owner end
  if #v % SIZE ~= 1 or v:byte(1) ~= 1 then
    error('BADDATA the value of a key is not of this program')
  end
  for at = 2, #v, SIZE do
    local c = {}
    c.id, c.fp, c.unit, c.interval, c.cap, c.word, c.at = struct.unpack(RECORD, v, at)
    if age(c, now) then owner.changed = true end -- or it would wait until the old time comes again
    owner.order[#owner.order + 1] = c.id
    owner.states[c.id] = c
  end
  return owner
end

-- state is that of a limit; it is a new one if there is none.
local function state(owner, l, now)
  local c = owner.states[l.id]
  if not c then
    c = {id = l.id, fp = l.fp, unit = l.unit, interval = l.interval, cap = l.cap, word = 0, at = now}
    age(c, now)
    owner.order[#owner.order + 1] = l.id
    owner.states[l.id] = c
  end
  return c
end

-- save writes what is still owed, for as long as it is, and grace longer.
local function save(owner, now, grace)
  local records, longest = {'\1'}, 0
  for _, id in ipairs(owner.order) do
    local c = owner.states[id]
    if c.word > 0 then
      records[#records + 1] = struct.pack(RECORD, c.id, c.fp, c.unit, c.interval, c.cap, c.word, c.at)
      longest = max(longest, reset(c, now))
    end
  end
  if longest == 0 then
    redis.call('DEL', owner.key)
  else
    redis.call('SET', owner.key, table.concat(records), 'PX', string.format('%.0f', up(longest, 1000) + grace))
  end
end

-- last makes a set of slots outlive a lease, and never be one without an end.
local function last(key, lease, grace)
  local need = up(lease, 1000) + grace
  if redis.call('PTTL', key) < need then
    redis.call('PEXPIRE', key, string.format('%.0f', need))
  end
end
