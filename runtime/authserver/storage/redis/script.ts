import { createHash } from 'node:crypto';
import { SESSIONS_PER_USER } from '../bounds.ts';

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

// What a user has: a sorted set of sessions, and of codes that wait (\`code:\` before the id), and a hash of links.
export const USERS = `
local function lengthen_links(sub, at)
  local links = prefix .. 'links:' .. sub
  if redis.call('EXISTS', links) == 1 then
    lengthen(links, at)
    add('linked', sub, now + redis.call('PTTL', links))
  end
end

local function end_links(sub)
  redis.call('DEL', prefix .. 'links:' .. sub)
  redis.call('ZREM', prefix .. 'linked', sub)
end

local function end_session(key, sub)
  local user = prefix .. 'user:' .. sub
  redis.call('DEL', prefix .. 'session:' .. key)
  redis.call('ZREM', prefix .. 'sessions', key)
  redis.call('ZREM', user, key)
  redis.call('ZREMRANGEBYSCORE', user, '-inf', now)
  if redis.call('ZCARD', user) == 0 then end_links(sub) end
end

local function end_held(sub, member)
  if string.sub(member, 1, 5) == 'code:' then
    redis.call('DEL', prefix .. member)
    redis.call('ZREM', prefix .. 'user:' .. sub, member)
  else
    end_session(member, sub)
  end
end

local function hold(sub, member, at)
  local user = prefix .. 'user:' .. sub
  add('user:' .. sub, member, at)
  redis.call('ZREMRANGEBYSCORE', user, '-inf', now)
  local excess = redis.call('ZCARD', user) - ${SESSIONS_PER_USER}
  if excess > 0 then
    for _, other in ipairs(redis.call('ZRANGE', user, 0, excess)) do
      if other ~= member and excess > 0 then
        end_held(sub, other)
        excess = excess - 1
      end
    end
  end
end
`;

/** A script of these parts. */
export function script(...parts: readonly string[]): RedisScript {
  const lua = [PRELUDE, ...parts].join('');
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

// WAIT (https://redis.io/commands/wait) asks for the writes of its own connection. An end writes even where there is nothing
// left to end, so that its WAIT covers an end that another connection wrote.
export const MARK = `
redis.call('SET', prefix .. 'mark', 1, 'PX', 1000)
`;
