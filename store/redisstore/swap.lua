-- Reads a record with the server's clock and the revision of the control state, or replaces it if it is still the one
-- that was read: its first 16 bytes are new with every write.
--
-- KEYS: the record's; to read also the control state's. ARGV: clock (empty: the server's); to write also the first bytes
-- of what was read, what to write, and for how many ms it holds.
local function clock(given)
  if given ~= '' then return {string.sub(given, 1, -7), string.sub(given, -6)} end
  return redis.call('TIME')
end
if #ARGV == 1 then
  local t = clock(ARGV[1])
  return {redis.call('GET', KEYS[1]) or '', t[1], t[2], redis.call('HGET', KEYS[2], 'revision') or '0'}
end
if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return 1
