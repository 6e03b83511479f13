import { script } from '#runtime/storage/redis/script';
import { KEPT_KINDS } from '../storage.ts';
import { ASSERTIONS } from './script-parts.ts';

// Each comment lists the arguments after the prefix → the answer.

/** kind, index, id, row, lifespan, capacity → 1; 0 when the capacity is reached. */
export const PUT = script(
  `
local kind, index, id, row, lifespan, capacity = unpack(ARGV, 2)
local all = prefix .. index
sweep(index)
local known = redis.call('ZSCORE', all, id)
if not known or tonumber(known) <= now then
  local excess = redis.call('ZCOUNT', all, '(' .. now, '+inf') - capacity + 1
  if excess > 0 and (${KEPT_KINDS.map((kind) => `kind == '${kind}'`).join(' or ')}) then return 0 end
  if excess > 0 then
    local oldest = redis.call('ZRANGEBYSCORE', all, '(' .. now, '+inf', 'LIMIT', 0, math.min(excess, 100))
    for _, old in ipairs(oldest) do
      redis.call('DEL', prefix .. kind .. ':' .. old)
      redis.call('ZREM', all, old)
    end
  end
end
redis.call('SET', prefix .. kind .. ':' .. id, row, 'PX', lifespan)
add(index, id, now + lifespan)
return 1`,
);

/** kind, index, id → the removed row. */
export const TAKE = script(
  `
local kind, index, id = unpack(ARGV, 2)
local row = redis.call('GET', prefix .. kind .. ':' .. id)
redis.call('DEL', prefix .. kind .. ':' .. id)
redis.call('ZREM', prefix .. index, id)
return row`,
);

/** kind, index, id, lifespan. */
export const TOUCH = script(
  `
local kind, index, id, lifespan = unpack(ARGV, 2)
local key = prefix .. kind .. ':' .. id
local left = redis.call('PTTL', key)
if left >= 0 and left < tonumber(lifespan) then
  redis.call('PEXPIRE', key, lifespan)
  add(index, id, now + lifespan)
end
return 1`,
);

/** kind, index, id. */
export const REMOVE = script(`
local kind, index, id = unpack(ARGV, 2)
redis.call('DEL', prefix .. kind .. ':' .. id)
redis.call('ZREM', prefix .. index, id)
return 1`);

/** id, lifespan, capacity → 1; 0 for an assertion that was used; 2 when the capacity is reached. */
export const USE_ASSERTION = script(
  ASSERTIONS,
  `
local id, lifespan, capacity = unpack(ARGV, 2)
return use_assertion(id, lifespan, capacity)`,
);

/** name, holder. Deletes the lease only if this holder has it. */
export const RELEASE = script(`
local key = prefix .. 'lease:' .. ARGV[2]
if redis.call('GET', key) == ARGV[3] then redis.call('DEL', key) end
return 1`);

/** bucket, window → the count in the window. */
export const COUNT = script(`
local key = prefix .. 'count:' .. ARGV[2]
local counted = redis.call('INCR', key)
if counted == 1 then redis.call('PEXPIRE', key, ARGV[3]) end
return counted`);

/** → clients, logins, sessions. */
export const SIZES = script(`
local sizes = {}
for i, index in ipairs({ 'clients', 'logins', 'sessions' }) do
  sizes[i] = redis.call('ZCOUNT', prefix .. index, '(' .. now, '+inf')
end
return sizes`);

/** `sessions` or `linked`, cursor → next cursor, and the `kid` of each session or link. */
export const SECRETS = script(`
local index, cursor = ARGV[2], ARGV[3]
local found = redis.call('ZSCAN', prefix .. index, cursor, 'COUNT', 500)
local kids = {}
for i = 1, #found[2], 2 do
  if index == 'sessions' then
    local kid = redis.call('HGET', prefix .. 'session:' .. found[2][i], 'kid')
    if kid then kids[#kids + 1] = cjson.decode(kid) end
  else
    for _, link in ipairs(redis.call('HVALS', prefix .. 'links:' .. found[2][i])) do
      kids[#kids + 1] = string.match(cjson.decode(link).sealed, '^([^.]*)%.') or ''
    end
  end
end
return { found[1], kids }`);
