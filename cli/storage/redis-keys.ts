import { Redis, ReplyError } from 'ioredis';
import { type ReadSecret, type RedisConfig, redisOptions } from '#lib/connections/redis-options';

/** Keys per scan step, so that a step does not block Redis for long. */
const STEP = 1000;
const SPECIAL = /[*?[\]\\]/g;

const messageOf = (problem: unknown): string =>
  typeof problem === 'object' && problem !== null && 'message' in problem
    ? String(problem.message)
    : 'the cause is unknown';

/** `word` is the first word of the answer, e.g. NOPERM; undefined without an answer. The message holds no value. */
export class RedisFailure extends Error {
  override readonly name = 'RedisFailure';
  readonly word: string | undefined;
  constructor(word: string | undefined, cause: unknown) {
    super(word ?? messageOf(cause), { cause });
    this.word = word;
  }
}

export interface KeyAccess {
  config: RedisConfig;
  readSecret: ReadSecret;
  /** Name in the certificate, if the address differs. */
  tlsName?: string | undefined;
}

export interface RedisKeys {
  /** May yield a key twice. @throws RedisFailure */
  find(prefix: string): AsyncGenerator<string[], void, void>;
  /** Returns how many existed. @throws RedisFailure */
  remove(keys: readonly string[]): Promise<number>;
  close(): void;
}

const isAnswer = (problem: unknown): problem is Error => problem instanceof ReplyError;

/** Keeps only the first word of the answer, because Redis errors contain the command with its values. */
function failureOf(problem: unknown, received: unknown): RedisFailure {
  const answer = [problem, received].find(isAnswer);
  const word = answer && (/^[A-Z]+/.exec(answer.message)?.[0] ?? 'ERR');
  // A command fails with "Connection is closed." only. The earlier event has the reason.
  return new RedisFailure(word, word === undefined ? (received ?? problem) : undefined);
}

/** Connects to the Redis, or to the Sentinels' master, without retries. @throws RedisFailure, UnusableRedisSettings */
export async function openKeys({ config, readSecret, tlsName }: KeyAccess): Promise<RedisKeys> {
  const { tls, ...options } = redisOptions(config, readSecret, 0);
  const redis = new Redis({
    ...options,
    ...(tls && { tls: { ...tls, ...(tlsName !== undefined && { servername: tlsName }) } }),
    connectTimeout: config.dial_timeout,
    commandTimeout: config.read_timeout,
    lazyConnect: true,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    disableClientInfo: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let received: unknown;
  redis.on('error', (error) => {
    received = error;
  });
  const ask = async <Answer>(question: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await question();
    } catch (problem) {
      throw failureOf(problem, received);
    }
  };
  try {
    await ask(() => redis.connect());
    await ask(() => redis.scan(0, 'COUNT', 1));
    // Without credentials, the default user applies. By default it has all permissions.
    if (isAnswer(received)) throw failureOf(received, received);
  } catch (problem) {
    redis.disconnect();
    throw problem;
  }
  return {
    async *find(prefix) {
      const pattern = `${prefix.replaceAll(SPECIAL, String.raw`\$&`)}*`;
      let cursor = '0';
      do {
        const [next, found] = await ask(() => redis.scan(cursor, 'MATCH', pattern, 'COUNT', STEP));
        if (found.length > 0) yield found;
        cursor = next;
      } while (cursor !== '0');
    },
    remove: (keys) => ask(() => redis.unlink(...keys)),
    close: () => redis.disconnect(),
  };
}
