import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly lua: string;
  /** SHA-1 of the text, by which Redis finds the script. */
  readonly sha: string;
}

// The first argument of every script is the common key prefix. Scripts use the clock of Redis. `at` is an expiry in milliseconds since
// the epoch. Rows are JSON from this process. Scripts only read them: Lua would turn empty lists into objects and change large numbers.
const PRELUDE = `
local prefix = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function lengthen(key, at)
  if redis.call('PTTL', key) < at - now then redis.call('PEXPIREAT', key, at) end
end

local function add(index, member, at)
  redis.call('ZADD', prefix .. index, at, member)
  lengthen(prefix .. index, at)
end

local function sweep(index)
  local over = redis.call('ZRANGEBYSCORE', prefix .. index, '-inf', now, 'LIMIT', 0, 100)
  if #over > 0 then redis.call('ZREM', prefix .. index, unpack(over)) end
end
`;

export function script(...parts: readonly string[]): RedisScript {
  const lua = [PRELUDE, ...parts].join('');
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}
