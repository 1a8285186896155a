-- Reads a record with the server's clock, or replaces it if it is still the one
-- that was read: its first 16 bytes are new with every write.
--
-- KEYS: one. ARGV: clock (empty: the server's); to write also the first bytes
-- of what was read, what to write, and for how many ms it holds.
local function clock(given)
  if given ~= '' then return {string.sub(given, 1, -7), string.sub(given, -6)} end
  return redis.call('TIME')
end
if #ARGV == 1 then
  local t = clock(ARGV[1])
  return {redis.call('GET', KEYS[1]) or '', t[1], t[2]}
end
if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return 1
