import { SESSIONS_PER_USER } from '../bounds.ts';

// Data of a user: a sorted set of sessions and unredeemed codes (`code:` before the id), and a hash of links.
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

export const ASSERTIONS = `
local function use_assertion(id, lifespan, capacity)
  local key = prefix .. 'assertion:' .. id
  sweep('assertions')
  if redis.call('EXISTS', key) == 1 then return 0 end
  if redis.call('ZCOUNT', prefix .. 'assertions', '(' .. now, '+inf') >= tonumber(capacity) then return 2 end
  redis.call('SET', key, '{"used_at":' .. string.format('%.0f', now) .. '}', 'PX', lifespan)
  add('assertions', id, now + lifespan)
  return 1
end
`;

// WAIT (https://redis.io/commands/wait) covers its own connection only. An end always writes, to cover another connection's end.
export const MARK = `
redis.call('SET', prefix .. 'mark', 1, 'PX', 1000)
`;
