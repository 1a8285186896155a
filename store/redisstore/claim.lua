-- Decides all claims of one batch: the enforced ones are granted all or none,
-- then the shadow ones. Nothing is written unless something is granted, a limit was
-- changed, or the clock set back.
--
-- KEYS: what the claims name. ARGV: clock (empty: the server's), grace in ms,
-- the request's id, 1 to peek, and the claims in records of 52 bytes. Answers
-- in records of 33 bytes.
local now, grace = clock(ARGV[1]), tonumber(ARGV[2])
local id, peek, packed = ARGV[3], ARGV[4] == '1', ARGV[5]
local claims, owners, sets = {}, {}, {}
local format, unpack = string.format, struct.unpack

-- set is how many slots of a key are held; it is counted once.
local function set(key)
  local c = sets[key]
  if not c then
    c = {word = redis.call('ZCOUNT', key, format('(%.0f', now), '+inf')}
    sets[key] = c
  end
  return c
end

-- tokens is the state of a claim's limit, carried over if it was changed: from
-- now on it refills at the new rate, also when it is refused. Of two versions of
-- a limit in one batch the first one holds.
local function tokens(l)
  local o = owners[l.key]
  if not o then
    o = load(l.key, now)
    owners[l.key] = o
  end
  local c = state(o, l, now)
  if c.fp ~= l.fp and not c.asked then
    carry(c, l, now)
    o.changed = true
  end
  l.owner, c.asked = o, true
  return c
end

-- take asks for the cost of a claim, and returns whether it passes, else when.
local function take(c, l)
  local cost = l.cost
  if l.slot then
    if c.word >= l.cap then return false, 0 end
    c.word = c.word + 1
    return true, 0
  end
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
  for i = 1, #claims do
    local l = claims[i]
    if l.group == group then
      l.before = l.c.word
      l.ok, l.retry = take(l.c, l)
      passed = passed and l.ok
    end
  end
  if passed and may then return true end
  for i = #claims, 1, -1 do
    local l = claims[i]
    if l.group == group then l.c.word = l.before end
  end
  return false
end

for at = 1, #packed, 52 do
  local kind, group, place, limit, fp, unit, interval, cap, cost = unpack('>BBHc8c8dddd', packed, at)
  local l = {
    slot = kind == 1, group = group, key = KEYS[place], id = limit, fp = fp,
    unit = unit, interval = interval, cap = cap, cost = cost, ok = false, retry = 0,
  }
  l.c = l.slot and set(l.key) or tokens(l)
  claims[#claims + 1] = l
end

local enforced = judge(0, true)
local shadow = judge(1, enforced)

if not peek then
  for i = 1, #claims do
    local l = claims[i]
    local granted = enforced
    if l.group == 1 then granted = shadow end
    if granted and l.slot then
      -- First what a full server refuses: after one write it lets all others pass.
      redis.call('ZADD', l.key, format('%.0f', now + l.unit), id)
      redis.call('ZREMRANGEBYSCORE', l.key, '-inf', format('%.0f', now))
      last(l.key, l.unit, grace)
    elseif granted and l.cost > 0 then
      l.owner.changed = true
    end
  end
  for _, o in pairs(owners) do
    if o.changed then save(o, now, grace) end
  end
end

local answer = {}
for i = 1, #claims do
  local l = claims[i]
  local c, left, after, handle = l.c, 0, 0, 0
  if l.slot then
    left = max(0, l.cap - c.word)
  else
    after = reset(c, now)
    if c.unit > 0 then
      left, handle = down(c.cap - min(c.word, c.cap), c.interval), c.word
    else
      left, handle = max(0, c.cap - c.word), c.at
    end
  end
  answer[i] = struct.pack('>Bdddd', l.ok and 1 or 0, left, l.retry, after, handle)
end
if #answer == 1 then return answer[1] end
return table.concat(answer)
