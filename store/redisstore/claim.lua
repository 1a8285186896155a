-- Decides all claims of one batch: the enforced ones are granted all or none,
-- then the shadow ones. Nothing is written unless something is granted, a limit was
-- changed, or the clock set back.
--
-- KEYS: what the claims name. ARGV: clock (empty: the server's), grace in ms,
-- the request's id, 1 to peek, and the claims in records of 52 bytes. Answers
-- in records of 33 bytes.
local now, grace = clock(ARGV[1]), tonumber(ARGV[2])
local id, peek, packed = ARGV[3], ARGV[4] == '1', ARGV[5]
local claims, owners, base = {}, {}, {}

-- take asks a state for the cost of a claim.
local function take(c, l)
  local cost = l.cost
  if l.slot then
    if c.word >= l.cap then return false, 0 end
    c.word = c.word + 1
    return true, 0
  end
  carry(c, l, now)
  if c.unit == 0 then
    if cost < 0 or cost > c.cap then return false, -1 end
    if cost > max(0, c.cap - c.word) then return false, c.at + c.interval - now end
    c.word = c.word + cost
    return true, 0
  end
  local after = c.word + cost * c.interval
  if cost < 0 or cost * c.interval > c.cap then return false, -1 end
  if after > c.cap then return false, up(after - c.cap, c.unit) + max(0, c.at - now) end
  c.word = after
  return true, 0
end

-- judge asks for the claims of a group on copies, and returns whether all pass.
local function judge(group)
  local passed, trial = true, {}
  for _, l in ipairs(claims) do
    if l.group == group then
      local c = trial[l.name]
      if not c then
        c = {}
        for k, v in pairs(base[l.name]) do c[k] = v end
        trial[l.name] = c
      end
      l.ok, l.retry = take(c, l)
      passed = passed and l.ok
    end
  end
  return passed, trial
end

local function conclude(trial)
  for name, c in pairs(trial) do base[name] = c end
end

for at = 1, #packed, 52 do
  local l, kind, place = {}, nil, nil
  kind, l.group, place, l.id, l.fp, l.unit, l.interval, l.cap, l.cost = struct.unpack('>BBHc8c8dddd', packed, at)
  l.key, l.slot = KEYS[place], kind == 1
  if l.slot then
    l.name = l.key
    if not base[l.name] then
      base[l.name] = {word = redis.call('ZCOUNT', l.key, string.format('(%.0f', now), '+inf')}
    end
  else
    l.name = l.key .. l.id
    local o = owners[l.key]
    if not o then
      o = load(l.key, now)
      owners[l.key] = o
    end
    if not base[l.name] then
      local c = state(o, l, now)
      if c.fp ~= l.fp then -- from now on it refills at the new rate, also when it is refused
        carry(c, l, now)
        o.changed = true
      end
      base[l.name] = c
    end
  end
  claims[#claims + 1] = l
end

local granted = {[0] = false, [1] = false}
local trial
granted[0], trial = judge(0)
if granted[0] then conclude(trial) end
granted[1], trial = judge(1)
granted[1] = granted[0] and granted[1]
if granted[1] then conclude(trial) end

if granted[0] and not peek then
  for _, l in ipairs(claims) do
    if granted[l.group] then
      if l.slot then
        local lease = l.unit
        -- First what a full server refuses: after one write it lets all others pass.
        redis.call('ZADD', l.key, string.format('%.0f', now + lease), id)
        redis.call('ZREMRANGEBYSCORE', l.key, '-inf', string.format('%.0f', now))
        last(l.key, lease, grace)
      elseif l.cost > 0 then
        owners[l.key].states[l.id] = base[l.name]
        owners[l.key].changed = true
      end
    end
  end
end
if not peek then
  for _, o in pairs(owners) do
    if o.changed then save(o, now, grace) end
  end
end

local answer = {}
for i, l in ipairs(claims) do
  local c, left, after, handle = base[l.name], 0, 0, 0
  if l.slot then
    left = max(0, l.cap - c.word)
  else
    carry(c, l, now)
    after = reset(c, now)
    if c.unit > 0 then
      left, handle = down(c.cap - min(c.word, c.cap), c.interval), c.word
    else
      left, handle = max(0, c.cap - c.word), c.at
    end
  end
  answer[i] = struct.pack('>Bdddd', l.ok and 1 or 0, left, l.retry, after, handle)
end
return table.concat(answer)
