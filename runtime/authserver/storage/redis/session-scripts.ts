import { script } from '#runtime/storage/redis/script';
import { ASSERTIONS, MARK, USERS } from './script-parts.ts';

// Each comment lists the arguments after the prefix → the answer.

/**
 * key, client, generation, kid, grace, lifespan, `asked_at` and `answered_at` of the caller's cached row; then required providers → 0 (no
 * such session), 2 (a required provider is not linked), the user (the session ended), or fields and values. For an up-to-date cached row,
 * these are only the fields that a rotation changes.
 */
export const ROTATE_SESSION = script(
  USERS,
  `
local key, client, gen, kid, grace, lifespan, asked, answered = unpack(ARGV, 2)
local session = prefix .. 'session:' .. key
local known = redis.call('HMGET', session, 'client_id', 'sub', 'gen', 'rotated_at', 'ends_at', 'kid', 'asked_at', 'answered_at')
if not known[1] or known[1] ~= client then return 0 end
local sub, current = cjson.decode(known[2]), tonumber(known[3])
gen = tonumber(gen)
local function rotated(...)
  if known[7] == asked and known[8] == answered then return { ... } end
  return redis.call('HGETALL', session)
end
if gen < current and (gen < current - 1 or now - known[4] > tonumber(grace)) then
  end_session(key, sub)
  return sub
end
for i = 10, #ARGV do
  local link = redis.call('HGET', prefix .. 'links:' .. sub, ARGV[i])
  if not link or not string.find(link, '"state":"linked"', 1, true) then return 2 end
end
if gen < current then return rotated('gen', known[3], 'rotated_at', known[4], 'kid', known[6]) end
local at = math.min(now + lifespan, tonumber(known[5]))
redis.call('HSET', session, 'gen', gen + 1, 'rotated_at', now, 'kid', kid)
redis.call('PEXPIREAT', session, at)
add('sessions', key, at)
add('user:' .. sub, key, at)
lengthen_links(sub, at)
return rotated('gen', tostring(gen + 1), 'rotated_at', tostring(now), 'kid', kid)`,
);

/**
 * slot, key, sub, lifespan, end; assertion ('' for none), its lifespan, its time of issue, lifespan of the links, capacity of assertions;
 * number of revocations, revocations; then fields and values of the session → the key of the session; 0 for an assertion that was used, 2
 * when the capacity is reached, 3 for an assertion that was revoked.
 */
export const HOLD_SESSION = script(
  USERS,
  ASSERTIONS,
  `
local slot, key, sub, lifespan, ends_at, assertion, used_for, issued_at, links_for, capacity, revocations = unpack(ARGV, 2)
local fields = 13 + tonumber(revocations)
for i = 13, fields - 1 do
  local row = redis.call('GET', prefix .. 'revocation:' .. ARGV[i])
  if row and tonumber(issued_at) <= cjson.decode(row).not_before then return 3 end
end
if assertion ~= '' then
  local used = use_assertion(assertion, used_for, capacity)
  if used ~= 1 then return used end
end
local held = redis.call('GET', prefix .. 'slot:' .. slot)
local former = held and cjson.decode(held).session
if former and redis.call('EXISTS', prefix .. 'session:' .. former) == 1 then key = former end
local at = math.min(now + lifespan, tonumber(ends_at))
redis.call('HSET', prefix .. 'session:' .. key, 'gen', 0, 'rotated_at', now, unpack(ARGV, fields))
redis.call('PEXPIREAT', prefix .. 'session:' .. key, at)
sweep('sessions')
add('sessions', key, at)
hold(sub, key, at)
lengthen_links(sub, math.max(at, now + links_for))
redis.call('SET', prefix .. 'slot:' .. slot, cjson.encode({ session = key }), 'PX', math.max(1, at - now))
return key`,
);

/** key; then fields and values. */
export const AMEND_SESSION = script(`
local session = prefix .. 'session:' .. ARGV[2]
if redis.call('EXISTS', session) == 1 then redis.call('HSET', session, unpack(ARGV, 3)) end
return 1`);

/** key. */
export const END_SESSION = script(
  USERS,
  MARK,
  `
local sub = redis.call('HGET', prefix .. 'session:' .. ARGV[2], 'sub')
if sub then end_session(ARGV[2], cjson.decode(sub)) end
return 1`,
);

/** sub. */
export const END_USER = script(
  USERS,
  MARK,
  `
local sub = ARGV[2]
local user = prefix .. 'user:' .. sub
for _, member in ipairs(redis.call('ZRANGE', user, 0, -1)) do end_held(sub, member) end
redis.call('DEL', user)
end_links(sub)
return 1`,
);

/** sub → keys of sessions and unredeemed codes. */
export const HELD_BY = script(`
return redis.call('ZRANGEBYSCORE', prefix .. 'user:' .. ARGV[2], '(' .. now, '+inf')`);
