-- What all scripts share: how the state of one owner lies in a string, and the
-- arithmetic of limits on tokens. Times are whole microseconds, and all figures
-- are whole numbers below 2^53, so doubles hold them exactly.
--
-- A token bucket counts in units: a microsecond has unit of them and a token
-- interval; word is what is owed, at the moment at. A fixed window has unit 0:
-- interval is its length, cap its limit, word what was used, at its start.
local fmod, min, max = math.fmod, math.min, math.max
local BEHIND = 1000000 -- how far a clock may be behind before it counts as set back
local MOST = 4503599627370496 -- the most that is owed, 2^52
local RECORD, SIZE = '>c8c8ddddd', 56

-- Figures are handed to the server as they are: it writes 17 digits of them.
local call, pack, unpack = redis.call, struct.pack, struct.unpack

-- All scripts get the clock, empty for the server's, and the grace in ms.
local now, grace = ARGV[1], tonumber(ARGV[2])
if now == '' then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
else
  now = tonumber(now)
end

local function down(a, b) return (a - fmod(a, b)) / b end

local function up(a, b)
  local rem = fmod(a, b)
  if rem > 0 then return (a - rem) / b + 1 end
  return a / b
end

-- age brings a state to a moment, and reports whether the clock was set back.
local function age(c)
  if c.unit > 0 then
    if now >= c.at then
      local refilled = (now - c.at) * c.unit
      if refilled < c.word then c.word = c.word - refilled else c.word = 0 end
      c.at = now
    elseif c.at - now > BEHIND then
      c.at = now
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

-- burst is how many tokens a limit or a state holds.
local function burst(l)
  if l.unit > 0 then return l.cap / l.interval end
  return l.cap
end

-- fits reports whether a state can be that of another limit without forgetting
-- a part of what is spent, or locking out for longer than either limit says.
local function fits(c, l)
  if c.unit == 0 and l.unit == 0 then return true end
  if c.unit == 0 then return c.word <= burst(l) end
  if c.word <= burst(l) * c.interval then return true end
  return l.unit * c.interval > c.unit * l.interval -- false for a window: its unit is 0
end

-- carry makes a state that of another limit: what is spent stays spent, and
-- nothing is cut. Where it does not fit it stays as it is, refills at its own
-- rate, tells when it fits, and lets nothing pass till then.
local function carry(c, l)
  if c.fp == l.fp then return true end
  if not fits(c, l) then
    c.held, c.own, c.cap = true, c.cap, burst(l)
    if c.unit > 0 then c.cap = c.cap * c.interval end
    return false
  end
  if c.unit > 0 and l.unit > 0 then
    if c.unit ~= l.unit or c.interval ~= l.interval then
      -- word * to / from, rounded up, and by two more where a product is not exact
      local rem = fmod(c.word, c.interval)
      local product = rem * l.interval
      local part = up(product, c.interval)
      if product > 9007199254740992 then part = part + 2 end
      c.word = (c.word - rem) / c.interval * l.interval + part
    end
    c.word = min(c.word, MOST)
  else
    local spent = c.word
    if c.unit > 0 then spent = up(spent, c.interval) end
    if l.unit > 0 then
      c.word, c.at = spent * l.interval, now
    else
      c.word, c.at = spent, now - fmod(now, l.interval)
    end
  end
  c.fp, c.unit, c.interval, c.cap = l.fp, l.unit, l.interval, l.cap
  return true
end

-- reset is how long until a state is as if never used.
local function reset(c)
  if c.word == 0 then return 0 end
  if c.unit == 0 then return c.at + c.interval - now end
  local wait = up(c.word, c.unit)
  if c.at > now then wait = wait + c.at - now end
  return wait
end

-- load reads the states of one owner, by the ids of their limits, and brings
-- them to a moment.
local function load(key)
  local owner = {key = key, changed = false}
  local v = call('GET', key)
  if not v then return owner end
  if #v % SIZE ~= 1 or v:byte(1) ~= 1 then
    error('BADDATA the value of a key is not of this program')
  end
  for at = 2, #v, SIZE do
    local id, fp, unit, interval, cap, word, since = unpack(RECORD, v, at)
    local c = {id = id, fp = fp, unit = unit, interval = interval, cap = cap, word = word, at = since, asked = false}
    if age(c) then owner.changed = true end -- or it would wait until the old time comes again
    owner[#owner + 1] = c
  end
  return owner
end

-- find is the state of a limit, if there is one.
local function find(owner, id)
  for i = 1, #owner do
    if owner[i].id == id then return owner[i] end
  end
end

-- state is that of a limit; it is a new one if there is none.
local function state(owner, l)
  local c = find(owner, l.id)
  if c then return c end
  c = {id = l.id, fp = l.fp, unit = l.unit, interval = l.interval, cap = l.cap, word = 0, at = now, asked = false}
  age(c)
  owner[#owner + 1] = c
  return c
end

-- save writes what is still owed, for as long as it is, and grace longer.
local function save(owner)
  local value, longest = '\1', 0
  for i = 1, #owner do
    local c = owner[i]
    if c.word > 0 then
      value = value .. pack(RECORD, c.id, c.fp, c.unit, c.interval, c.own or c.cap, c.word, c.at)
      local after = reset(c)
      if after > longest then longest = after end
    end
  end
  if longest == 0 then
    call('DEL', owner.key)
  else
    call('SET', owner.key, value, 'PX', up(longest, 1000) + grace)
  end
end

-- last makes a set of slots outlive a lease, and never be one without an end;
-- then what ended before goes. A lasting set is looked at, and no more: for
-- another grace it lasts longer than it must.
local function last(key, lease)
  local need = up(lease, 1000) + grace
  if call('PTTL', key) < need then
    call('ZREMRANGEBYSCORE', key, '-inf', now)
    call('PEXPIRE', key, need + grace)
  end
end
