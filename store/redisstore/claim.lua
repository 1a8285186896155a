-- Decides all claims of one batch: the enforced ones are granted all or none,
-- then the shadow ones. Nothing is written unless something is granted, a limit was
-- changed, or the clock set back.
--
-- KEYS: what the claims name. ARGV: clock (empty: the server's), grace in ms,
-- the request's id, peek to change nothing, and the claims in records of 52
-- bytes, those on slots last. Answers in records of 33 bytes.
local id, peek, packed = ARGV[3], ARGV[4] == 'peek', ARGV[5]
local claims, n, shadows = {}, 0, false
local places = {} -- what lies at each of KEYS: an owner, or how many slots of a set are held

-- take asks for the cost of a claim, and returns whether it passes, else when.
local function take(c, l)
  local cost = l.cost
  if l.slot then
    if c.word >= l.cap then return false, 0 end
    c.word = c.word + 1
    return true, 0
  end
  if c.held and cost == 0 then cost = 1 end
  if c.unit == 0 then
    if cost < 0 or cost > c.cap then return false, -1 end
    if cost > max(0, c.cap - c.word) then return false, c.at + c.interval - now end
    c.word = c.word + cost
    return true, 0
  end
  local price = cost * c.interval
  if cost < 0 or price > c.cap then return false, -1 end
  local after = c.word + price
  if after > c.cap then return false, up(after - c.cap, c.unit) + max(0, c.at - now) end
  c.word = after
  return true, 0
end

-- judge asks for the claims of a group, and undoes all if one does not pass, or
-- if they may not be charged.
local function judge(group, may)
  local passed = true
  for i = 1, n do
    local l = claims[i]
    if l.group == group then
      l.before = l.c.word
      l.ok, l.retry = take(l.c, l)
      passed = passed and l.ok
    end
  end
  if passed and may then return true end
  for i = n, 1, -1 do
    local l = claims[i]
    if l.group == group then l.c.word = l.before end
  end
  return false
end

for at = 1, #packed, 52 do
  local kind, group, place, limit, fp, unit, interval, cap, cost = unpack('>BBHc8c8dddd', packed, at)
  local l = {
    slot = kind == 1, group = group, place = place, id = limit, fp = fp, unit = unit, interval = interval,
    cap = cap, cost = cost, ok = false, retry = 0, before = 0, c = false,
  }
  local there = places[place]
  if kind == 1 then
    if not there then there = {word = call('ZCOUNT', KEYS[place], now + 1, '+inf')} end
    l.c = there
  else
    -- A limit that was changed refills at the new rate as soon as what is spent
    -- fits it, also when it refuses. Of two versions of a limit in one batch the first one holds.
    there = there or load(KEYS[place])
    local c = state(there, l)
    if c.fp ~= fp and not c.asked and carry(c, l) then there.changed = true end
    c.asked, l.c = true, c
  end
  places[place] = there
  if group == 1 then shadows = true end
  n = n + 1
  claims[n] = l
end

local enforced = judge(0, true)
local shadow = shadows and judge(1, enforced)

if not peek then
  for i = 1, n do
    local l = claims[i]
    local granted = enforced
    if l.group == 1 then granted = shadow end
    if granted and l.slot then
      -- First what a full server refuses: after one write it lets all others pass.
      call('ZADD', KEYS[l.place], now + l.unit, id)
      last(KEYS[l.place], l.unit)
    elseif granted and l.cost > 0 then
      places[l.place].changed = true
    end
  end
  for i = 1, #KEYS do
    local o = places[i]
    if o.changed then save(o) end
  end
end

local answer = ''
for i = 1, n do
  local l = claims[i]
  local c, left, after, handle = l.c, 0, 0, 0
  if l.slot then
    left = l.cap - c.word
  else
    after = reset(c)
    if c.unit > 0 then
      left, handle = down(c.cap - min(c.word, c.cap), c.interval), c.word
    else
      left, handle = c.cap - c.word, c.at
    end
  end
  if left < 0 then left = 0 end
  answer = answer .. pack('>Bdddd', l.ok and 1 or 0, left, l.retry, after, handle)
end
return answer
