import { Redis, ReplyError } from 'ioredis';
import { type ReadSecret, type RedisConfig, redisOptions } from '#lib/connections/redis-options';

/** Keys per scan step, so that a step does not block Redis for long. */
const STEP = 1000;
/** Special characters of a Redis pattern. */
const SPECIAL = /[*?[\]\\]/g;

const messageOf = (problem: unknown): string =>
  typeof problem === 'object' && problem !== null && 'message' in problem
    ? String(problem.message)
    : 'nobody knows why';

/** A failed Redis command. `word`: first word of the answer, e.g. NOPERM; undefined without an answer. The message holds no value. */
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

/** The keys of one database. */
export interface RedisKeys {
  /** Returns keys with a literal prefix in batches; a key may occur twice. @throws RedisFailure */
  find(prefix: string): AsyncGenerator<string[], void, void>;
  /** Deletes keys and returns how many existed. @throws RedisFailure */
  remove(keys: readonly string[]): Promise<number>;
  close(): void;
}

const isAnswer = (problem: unknown): problem is Error => problem instanceof ReplyError;

/** Returns the failure with only the first word of the answer, because Redis errors contain the command with its values. */
function failureOf(problem: unknown, received: unknown): RedisFailure {
  const answer = [problem, received].find(isAnswer);
  const word = answer && (/^[A-Z]+/.exec(answer.message)?.[0] ?? 'ERR');
  // A command fails with "Connection is closed." only. The earlier event has the reason.
  return new RedisFailure(word, word === undefined ? (received ?? problem) : undefined);
}

/** Connects to the Redis, or to the master that the Sentinels name, without retries. @throws RedisFailure, UnusableRedisSettings */
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
