import { script } from '#runtime/storage/redis/script';

/**
 * Input for each limit: key, requests, and milliseconds in which a full count drains. Returns 0 if counted at all limits; else none counts,
 * and it returns the full limit (from 1) and the milliseconds to wait. A value is `level at`: the undrained count, and its time.
 */
export const TAKE = script(`
local function store(key, level, requests, period)
  redis.call('SET', key, string.format('%.9f %.0f', level, now), 'PX', math.max(1, math.ceil(level * period / requests)))
end

local full, wait = 0, 0
local levels = {}
for i = 2, #ARGV, 3 do
  local key, requests, period = prefix .. ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local level, at = string.match(redis.call('GET', key) or '0 0', '^(%S+) (%S+)$')
  level, at = tonumber(level), tonumber(at)
  level = math.min(requests, math.max(0, level - math.max(0, now - at) * requests / period))
  levels[i] = level
  -- The clock was set back: it drains from now on.
  if at > now then store(key, level, requests, period) end
  local longer = (level + 1 - requests) * period / requests
  if longer > wait then full, wait = (i + 1) / 3, longer end
end
if full > 0 then return { full, math.ceil(wait) } end
for i = 2, #ARGV, 3 do store(prefix .. ARGV[i], levels[i] + 1, tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])) end
return 0`);
