import { script } from '#runtime/storage/redis/script';

// Hash: `owner`, `counted_for`, fields `version sealed`. An ended record holds only `ended`, so that no replica restores it as lost.
// Scripts list their arguments after the prefix → the answer: 0: no record, 2: ended, 3: of another principal.

/** Milliseconds that a record outlives its session, for the process that ends its backend sessions. */
const KEPT = 120_000;

const RECORDS = `
local function record(id)
  return prefix .. 'mcp:' .. id
end

local function index_of(id, owner)
  return prefix .. 'mcp-of:' .. (redis.call('HGET', record(id), 'counted_for') or owner)
end

local function lengthen_record(id, owner, idle)
  local at = now + idle
  redis.call('PEXPIREAT', record(id), at + ${KEPT})
  redis.call('ZADD', prefix .. 'mcps', at, id)
  lengthen(prefix .. 'mcps', at + ${KEPT})
  lengthen(index_of(id, owner), at + ${KEPT})
end

local function use_record(id, owner, idle, used)
  redis.call('ZADD', index_of(id, owner), 'GT', used, id)
  lengthen_record(id, owner, idle)
end

local function end_record(id, owner, idle)
  redis.call('ZREM', index_of(id, owner), id)
  redis.call('ZREM', prefix .. 'mcps', id)
  redis.call('DEL', record(id))
  redis.call('HSET', record(id), 'ended', 1)
  redis.call('PEXPIRE', record(id), idle)
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
 * id, owner, countedFor, idle, most, safe; fields and values → id, fields and milliseconds since the last use of each evicted record;
 * 1: it exists already; `full` and the milliseconds until a record can be evicted.
 */
export const OPEN_RECORD = script(
  RECORDS,
  `
local id, owner, counted_for = ARGV[2], ARGV[3], ARGV[4]
local idle, most, safe = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local state = state_of(id, owner)
if state ~= 0 then return state end
local mine = prefix .. 'mcp-of:' .. counted_for
local evicted = {}
local excess = redis.call('ZCARD', mine) - most + 1
if excess > 0 then
  local idlest = redis.call('ZRANGE', mine, 0, excess - 1, 'WITHSCORES')
  local wait = tonumber(idlest[2]) + safe - now
  if wait > 0 then return { 'full', wait } end
  for i = 1, #idlest, 2 do
    local other, unused = idlest[i], now - tonumber(idlest[i + 1])
    if unused < safe then break end
    evicted[#evicted + 1] = { other, redis.call('HGETALL', record(other)), unused }
    end_record(other, counted_for, idle)
  end
end
redis.call('HSET', record(id), 'owner', owner, 'counted_for', counted_for, unpack(ARGV, 8))
use_record(id, owner, idle, now)
return evicted`,
);

/** id, owner, idle → fields and values; records a use. */
export const LOAD_RECORD = script(
  RECORDS,
  `
local id, owner, idle = ARGV[2], ARGV[3], tonumber(ARGV[4])
local state = state_of(id, owner)
if state ~= 1 then return state end
use_record(id, owner, idle, now)
return redis.call('HGETALL', record(id))`,
);

/** id, owner, idle; each field, version that it replaces (\`*\`: any), value (empty: none) → fields with another version, with values */
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

/** idle; for each: id, owner, milliseconds since its last use (empty: it only has a stream) → its state. */
export const TOUCH_RECORDS = script(
  RECORDS,
  `
local idle = tonumber(ARGV[2])
local states = {}
for i = 3, #ARGV, 3 do
  local id, owner, unused = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local state = state_of(id, owner)
  if state == 1 and unused then use_record(id, owner, idle, now - unused) end
  if state == 1 and not unused then lengthen_record(id, owner, idle) end
  states[#states + 1] = state
end
return states`,
);

/** idle → ids and fields of the records whose time is over, each once. */
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
