import { Redis, ReplyError } from 'ioredis';
import { type ReadSecret, type RedisConfig, redisOptions } from '#lib/connections/redis-options';

/** Keys that are looked at in one step, so that no step takes Redis long. */
const STEP = 1000;
/** Words of a pattern's language; all else stands for itself. */
const SPECIAL = /[*?[\]\\]/g;

const messageOf = (problem: unknown): string =>
  typeof problem === 'object' && problem !== null && 'message' in problem
    ? String(problem.message)
    : 'nobody knows why';

/** Redis did not do it. `word`: what it answered, e.g. NOPERM; undefined where there was no answer. The message holds no value. */
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
  /** Name in the certificate of the Redis, where it is reached under another one. */
  tlsName?: string | undefined;
}

/** The keys of one database. */
export interface RedisKeys {
  /** Keys with a prefix, taken as it is written, in steps; one may come twice. @throws RedisFailure */
  find(prefix: string): AsyncGenerator<string[], void, void>;
  /** How many of these there were. @throws RedisFailure */
  remove(keys: readonly string[]): Promise<number>;
  close(): void;
}

const isAnswer = (problem: unknown): problem is Error => problem instanceof ReplyError;

/** Errors of Redis carry the command with its values: only the first word of an answer is kept. */
function failureOf(problem: unknown, heard: unknown): RedisFailure {
  const answer = [problem, heard].find(isAnswer);
  const word = answer && (/^[A-Z]+/.exec(answer.message)?.[0] ?? 'ERR');
  // "Connection is closed." is all that a command says; why was told before.
  return new RedisFailure(word, word === undefined ? (heard ?? problem) : undefined);
}

/** Connects to the one Redis, or to the master that the Sentinels name. Nothing is tried twice. @throws RedisFailure, UnusableRedisSettings */
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
  let heard: unknown;
  redis.on('error', (error) => {
    heard = error;
  });
  const ask = async <Answer>(question: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await question();
    } catch (problem) {
      throw failureOf(problem, heard);
    }
  };
  try {
    await ask(() => redis.connect());
    await ask(() => redis.scan(0, 'COUNT', 1));
    // Whoever is not signed in is the default user, who may do all where nobody forbade it.
    if (isAnswer(heard)) throw failureOf(heard, heard);
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
