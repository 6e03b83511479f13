import { script } from '#runtime/storage/redis/script';

/**
 * For each limit its key, requests, and milliseconds in which a full count drains → 0: counted at all of them; else which one is
 * full, from 1, and the milliseconds until it has room: counted at none. A value is `level at`: what was counted and has not
 * drained, and when that was so. A clock that was set back drains nothing meanwhile, and one that is full has room after its
 * period at the latest.
 */
export const TAKE = script(`
local full, wait = 0, 0
local levels = {}
for i = 2, #ARGV, 3 do
  local requests, period = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local level, at = string.match(redis.call('GET', prefix .. ARGV[i]) or '0 0', '^(%S+) (%S+)$')
  level = tonumber(level) - math.max(0, now - tonumber(at)) * requests / period
  level = math.min(requests, math.max(0, level))
  levels[i] = level
  local longer = (level + 1 - requests) * period / requests
  if longer > wait then full, wait = (i + 1) / 3, longer end
end
if full > 0 then return { full, math.ceil(wait) } end
for i = 2, #ARGV, 3 do
  local level, drained = levels[i] + 1, ARGV[i + 2] / ARGV[i + 1]
  redis.call('SET', prefix .. ARGV[i], string.format('%.9f %.0f', level, now), 'PX', math.ceil(level * drained))
end
return 0`);
