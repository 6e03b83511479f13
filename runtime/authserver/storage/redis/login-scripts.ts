import { script } from '#runtime/storage/redis/script';
import { MARK, USERS } from './script-parts.ts';

// Each comment lists the arguments after the prefix → the answer.

/**
 * sub, lifespan, code, its row, its lifespan, expected links; then for each link: provider, subject, row → provider
 * with a conflict; 0 when an expected link changed; '' when stored.
 */
export const FINISH_LOGIN = script(
  USERS,
  `
local sub, lifespan, code, code_row, code_lifespan, expects = unpack(ARGV, 2)
local links = prefix .. 'links:' .. sub
local versions = {}
for provider, linked_at in pairs(cjson.decode(expects)) do
  local stored = redis.call('HGET', links, provider)
  if not stored or cjson.decode(stored).linked_at ~= linked_at then return 0 end
end
for i = 8, #ARGV, 3 do
  local stored = redis.call('HGET', links, ARGV[i])
  if stored then
    local account = cjson.decode(stored).account
    if type(account) == 'table' and account.subject ~= ARGV[i + 1] then return ARGV[i] end
    versions[i] = tonumber(string.match(stored, '^{"version":(%d+),'))
  end
end
for i = 8, #ARGV, 3 do
  local version = (versions[i] or 0) + 1
  redis.call('HSET', links, ARGV[i], '{"version":' .. version .. ',' .. string.sub(ARGV[i + 2], 2))
end
sweep('linked')
lengthen_links(sub, now + lifespan)
if code ~= '' then
  local key = prefix .. 'code:' .. code
  redis.call('HSET', key, 'sub', sub, 'row', code_row)
  redis.call('PEXPIRE', key, code_lifespan)
  hold(sub, 'code:' .. code, now + code_lifespan)
end
return ''`,
);

/** code, key, sub, lifespan, end; then fields and values of the session → 1; 0 for an unknown code; or the former session. */
export const REDEEM_CODE = script(
  USERS,
  `
local code, key, sub, lifespan, ends_at = unpack(ARGV, 2)
local known = redis.call('HMGET', prefix .. 'code:' .. code, 'sub', 'session')
if not known[1] then return 0 end
if known[2] then return known[2] end
redis.call('HSET', prefix .. 'code:' .. code, 'session', key)
redis.call('ZREM', prefix .. 'user:' .. known[1], 'code:' .. code)
local at = math.min(now + lifespan, tonumber(ends_at))
redis.call('HSET', prefix .. 'session:' .. key, 'gen', 0, 'rotated_at', now, unpack(ARGV, 7))
redis.call('PEXPIREAT', prefix .. 'session:' .. key, at)
sweep('sessions')
add('sessions', key, at)
hold(sub, key, at)
lengthen_links(sub, at)
return 1`,
);

/** code, key, sub. Makes the code redeemable again. */
export const UNDO_REDEMPTION = script(
  USERS,
  `
local code, key, sub = unpack(ARGV, 2)
local known = redis.call('HMGET', prefix .. 'code:' .. code, 'sub', 'session')
if known[2] ~= key then return 0 end
redis.call('HDEL', prefix .. 'code:' .. code, 'session')
hold(known[1], 'code:' .. code, now + redis.call('PTTL', prefix .. 'code:' .. code))
end_session(key, sub)
return 1`,
);

/** sub, provider, version, row → 1; 0 when the stored link has another version. */
export const REPLACE_LINK = script(`
local sub, provider, version, row = unpack(ARGV, 2)
local links = prefix .. 'links:' .. sub
local stored = redis.call('HGET', links, provider)
if not stored or string.match(stored, '^{"version":(%d+),') ~= version then return 0 end
redis.call('HSET', links, provider, '{"version":' .. (tonumber(version) + 1) .. ',' .. string.sub(row, 2))
return 1`);

/** sub, provider. */
export const UNLINK = script(
  MARK,
  `
local sub, provider = unpack(ARGV, 2)
local links = prefix .. 'links:' .. sub
redis.call('HDEL', links, provider)
if redis.call('EXISTS', links) == 0 then redis.call('ZREM', prefix .. 'linked', sub) end
return 1`,
);
