-- The control state and its audit trail: read, replaced with a record appended,
-- or a page of the trail. All of it is opaque here.
--
-- KEYS: a hash with revision, state and appended (how many records there ever
-- were); a list of the records. ARGV: what to do, and for swap the revision
-- that was read, the next one, the state, the record, how many records are
-- kept, and the channel on which it is told; for page the number of the first
-- record and how many.
if ARGV[1] == 'read' then
  local h = redis.call('HMGET', KEYS[1], 'state', 'revision')
  local t = redis.call('TIME')
  return {h[1] or '', h[2] or '0', t[1], t[2]}
end
local appended = redis.call('HGET', KEYS[1], 'appended') or '0'
if ARGV[1] == 'page' then
  local first = tonumber(appended) - redis.call('LLEN', KEYS[2]) + 1
  local from = math.max(tonumber(ARGV[2]) - first, 0)
  return redis.call('LRANGE', KEYS[2], from, from + tonumber(ARGV[3]) - 1)
end
if (redis.call('HGET', KEYS[1], 'revision') or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'revision', ARGV[3], 'state', ARGV[4], 'appended', tonumber(appended) + 1)
redis.call('RPUSH', KEYS[2], ARGV[5])
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[6]), -1)
redis.pcall('PUBLISH', ARGV[7], ARGV[3])
return 1
