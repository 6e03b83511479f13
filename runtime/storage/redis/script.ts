import { createHash } from 'node:crypto';

/** An operation that is all or nothing, as Redis runs it. */
export interface RedisScript {
  readonly lua: string;
  /** Of the text, by which Redis knows it. */
  readonly sha: string;
}

// Every script has the prefix of all keys as its first argument, and the clock of Redis. `at` is when something ends, in
// milliseconds since the epoch. Rows are JSON made here: a script reads members of it, and never writes it anew, as Lua turns
// empty lists into objects and large numbers into others.
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

/** A script of these parts. */
export function script(...parts: readonly string[]): RedisScript {
  const lua = [PRELUDE, ...parts].join('');
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}
