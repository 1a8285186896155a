-- Reads a record with the server's clock, or replaces it if it is still the one
-- that was read.
--
-- KEYS: one. ARGV: nothing to read; or its old value, its new one, and for how
-- many ms it holds.
local value = redis.call('GET', KEYS[1]) or ''
if #ARGV == 0 then
  local t = redis.call('TIME')
  return {value, t[1], t[2]}
end
if value ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
