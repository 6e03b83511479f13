import { z } from 'zod';

// A runtime that somebody broke into says what it likes. What is kept of it has a bound, and what is beyond is left out: a runtime
// that has more to say is served all the same.
const MOST_BACKENDS = 1000;
const MOST_WARNINGS = 100;
const MOST_KEYS = 100;
const LONGEST_URL = 2048;

const text = (longest: number) => z.string().transform((said) => said.slice(0, longest).toWellFormed());

const word = text(LONGEST_URL);

const listOf = <Item extends z.ZodType>(item: Item, most: number) =>
  z
    .array(z.unknown())
    .transform((said) => said.slice(0, most))
    .pipe(z.array(item));

const recordOf = <Value extends z.ZodType>(value: Value, most: number) =>
  z
    .record(z.string(), z.unknown())
    .transform((said) => Object.fromEntries(Object.entries(said).slice(0, most)))
    .pipe(z.record(word, value));

/** One backend as a runtime sees it now. */
const BackendStatus = z.object({
  name: z.string().max(253),
  /** ready: answers; degraded: answers, but not as it should; unavailable: does not answer; unknown: not asked yet. */
  phase: z.enum(['ready', 'degraded', 'unavailable', 'unknown']),
  /** Number of tools; null until somebody listed (per-user backends). */
  tools: z.int().nullable(),
  /** What is wrong and what to do, without secrets. */
  message: text(4096).default(''),
  /** Where a person who runs this logs in there; null: no login is needed, or it is not done here. */
  login_url: z
    .string()
    .nullable()
    .default(null)
    .transform((url) => (url !== null && url.length > LONGEST_URL ? null : url)),
});

/** The embedded authorization server: which keys and secrets are in force, and what still needs them. */
const AuthServerStatus = z.object({
  storage: z.enum(['memory', 'sqlite', 'redis']),
  signing_keys: z.object({
    kids: listOf(word, MOST_KEYS),
    signing: word,
    ephemeral: z.boolean(),
  }),
  secrets: z.object({ kids: listOf(word, MOST_KEYS), making: word, ephemeral: z.boolean() }),
  /** Sessions and links that need a secret, by its kid: one that is not named can go. Null while the storage does not answer. */
  secrets_in_use: recordOf(z.int(), MOST_KEYS).nullable(),
  /** How many rows there were, at most 30 s ago. Null while the storage does not answer. */
  sizes: z.object({ clients: z.int(), logins: z.int(), sessions: z.int(), links: z.int() }).nullable().default(null),
  /** Operations whose replication was not acknowledged in time, since the start. */
  unacknowledged: z.int(),
  /** What to register at each upstream provider. */
  redirect_uris: recordOf(word, MOST_KEYS),
});

/** What a runtime answers at `/status` on its private port, as far as the operator reads it. */
export const RuntimeStatus = z.object({
  /** SHA-256 (hex) of the run configuration file that is in force. */
  config_digest: word.optional(),
  /** A newer document that the runtime does not take over, and why. */
  config_refused: z.object({ message: text(16_384) }).nullish(),
  ready: z.boolean().default(true),
  backends: listOf(BackendStatus, MOST_BACKENDS).default([]),
  /** Number of tools after aggregation; null while unknown. */
  tools: z.int().nullable().default(null),
  /** Names dropped by conflicts, and other things that an administrator should know. */
  warnings: listOf(text(4096), MOST_WARNINGS).default([]),
  /** Null where there is none. */
  auth_server: AuthServerStatus.nullable().default(null),
});
export type RuntimeStatus = z.infer<typeof RuntimeStatus>;
