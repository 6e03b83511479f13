import { script } from '#runtime/storage/redis/script';

// A record is a hash: `owner`, and fields whose values are `version sealed`; one that was ended holds `ended` alone, so that no
// replica takes it for one that was lost. Each script says its arguments after the prefix → its answer: 0 where there is no
// such record, 2 where it has ended, 3 where it is another's.

/** A record outlives its session by so long, in milliseconds: whoever ends what the session has at backends needs it. */
const KEPT = 120_000;

const RECORDS = `
local function record(id)
  return prefix .. 'mcp:' .. id
end

local function lengthen_index(index, id, at)
  redis.call('ZADD', index, at, id)
  lengthen(index, at + ${KEPT})
end

local function lengthen_record(id, owner, idle)
  local at = now + idle
  redis.call('PEXPIREAT', record(id), at + ${KEPT})
  lengthen_index(prefix .. 'mcps', id, at)
  lengthen_index(prefix .. 'mcp-of:' .. owner, id, at)
end

local function end_record(id, owner, idle)
  redis.call('DEL', record(id))
  redis.call('HSET', record(id), 'ended', 1)
  redis.call('PEXPIRE', record(id), idle)
  redis.call('ZREM', prefix .. 'mcps', id)
  redis.call('ZREM', prefix .. 'mcp-of:' .. owner, id)
end

local function state_of(id, owner)
  local known = redis.call('HMGET', record(id), 'owner', 'ended')
  if known[2] then return 2 end
  if not known[1] then return 0 end
  if known[1] ~= owner then return 3 end
  local at = redis.call('ZSCORE', prefix .. 'mcps', id)
  if not at or tonumber(at) <= now then return 2 end
  return 1
end
`;

/**
 * id, owner, idle, most; then fields and values → for each record of the owner that had to make room its id and its fields; 1: it is
 * there already.
 */
export const OPEN_RECORD = script(
  RECORDS,
  `
local id, owner, idle, most = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local state = state_of(id, owner)
if state ~= 0 then return state end
local mine = prefix .. 'mcp-of:' .. owner
redis.call('ZREMRANGEBYSCORE', mine, '-inf', now)
local evicted = {}
local excess = redis.call('ZCARD', mine) - most + 1
if excess > 0 then
  for _, other in ipairs(redis.call('ZRANGE', mine, 0, excess - 1)) do
    evicted[#evicted + 1] = { other, redis.call('HGETALL', record(other)) }
    end_record(other, owner, idle)
  end
end
redis.call('HSET', record(id), 'owner', owner, unpack(ARGV, 6))
lengthen_record(id, owner, idle)
return evicted`,
);

/** id, owner, idle → its fields and values; it was used. */
export const LOAD_RECORD = script(
  RECORDS,
  `
local id, owner, idle = ARGV[2], ARGV[3], tonumber(ARGV[4])
local state = state_of(id, owner)
if state ~= 1 then return state end
lengthen_record(id, owner, idle)
return redis.call('HGETALL', record(id))`,
);

/**
 * id, owner, idle; then for each change field, version that it replaces (\`*\`: any), value (empty: none) → fields that have another
 * version, with their values.
 */
export const WRITE_RECORD = script(
  RECORDS,
  `
local id, owner, idle = ARGV[2], ARGV[3], tonumber(ARGV[4])
local state = state_of(id, owner)
if state ~= 1 then return state end
local other = {}
for i = 5, #ARGV, 3 do
  local field, version, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local stored = redis.call('HGET', record(id), field)
  local found = stored and string.match(stored, '^(%d+) ') or '0'
  if version ~= '*' and version ~= found then
    other[#other + 1] = field
    other[#other + 1] = stored or ''
  elseif value == '' then
    redis.call('HDEL', record(id), field)
  else
    redis.call('HSET', record(id), field, value)
  end
end
lengthen_record(id, owner, idle)
return other`,
);

/** id, owner, idle. */
export const END_RECORD = script(
  RECORDS,
  `
local id, owner, idle = ARGV[2], ARGV[3], tonumber(ARGV[4])
local state = state_of(id, owner)
if state ~= 3 then end_record(id, owner, idle) end
return state`,
);

/** idle; then ids and owners: they were used → the state of each. */
export const TOUCH_RECORDS = script(
  RECORDS,
  `
local idle = tonumber(ARGV[2])
local states = {}
for i = 3, #ARGV, 2 do
  local state = state_of(ARGV[i], ARGV[i + 1])
  if state == 1 then lengthen_record(ARGV[i], ARGV[i + 1], idle) end
  states[#states + 1] = state
end
return states`,
);

/** idle → ids and fields of sessions whose time is over, each told once. */
export const SWEEP_RECORDS = script(
  RECORDS,
  `
local idle = tonumber(ARGV[2])
local over = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'mcps', '-inf', now, 'LIMIT', 0, 100)) do
  local owner = redis.call('HGET', record(id), 'owner')
  if owner then
    over[#over + 1] = { id, redis.call('HGETALL', record(id)) }
    end_record(id, owner, idle)
  else
    redis.call('ZREM', prefix .. 'mcps', id)
  end
end
return over`,
);
