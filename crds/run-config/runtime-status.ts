import { z } from 'zod';

// A compromised runtime may report anything, so these limits apply. Data beyond them is dropped, and the runtime is served all the same.
const MOST_BACKENDS = 1000;
const MOST_WARNINGS = 100;
const MOST_KEYS = 100;
const LONGEST_URL = 2048;
const MOST_OF_NAME = 63;
const MOST_EXTENSIONS = 8;

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

const BackendStatus = z.object({
  name: z.string().max(253),
  /** ready: answers; degraded: answers with faults; unavailable: does not answer; unknown: not probed yet. */
  phase: z.enum(['ready', 'degraded', 'unavailable', 'unknown']),
  /** Number of tools; null before the first list (per-user backends). */
  tools: z.int().nullable(),
  /** The fault and its remedy, without secrets. */
  message: text(4096).default(''),
  /** Extensions of MCP that it offers and the gateway routes: tasks, apps. */
  extensions: listOf(text(MOST_OF_NAME), MOST_EXTENSIONS).optional(),
  /** URL where the administrator of this runtime logs in at the backend; null if no login is needed, or if it happens elsewhere. */
  login_url: z
    .string()
    .nullable()
    .default(null)
    .transform((url) => (url !== null && url.length > LONGEST_URL ? null : url)),
});

const AuthServerStatus = z.object({
  storage: z.enum(['memory', 'sqlite', 'redis']),
  signing_keys: z.object({
    kids: listOf(word, MOST_KEYS),
    signing: word,
    ephemeral: z.boolean(),
  }),
  secrets: z.object({ kids: listOf(word, MOST_KEYS), making: word, ephemeral: z.boolean() }),
  /** Sessions and links that need a secret, by its kid; an unlisted one can be removed. Null while the storage does not answer. */
  secrets_in_use: recordOf(z.int(), MOST_KEYS).nullable(),
  /** Number of rows, at most 30 s old. Null while the storage does not answer. */
  sizes: z.object({ clients: z.int(), logins: z.int(), sessions: z.int(), links: z.int() }).nullable().default(null),
  /** Operations without a timely acknowledgement of their replication, since the start. */
  unacknowledged: z.int(),
  redirect_uris: recordOf(word, MOST_KEYS),
});

/** The answer of a runtime at `/status` on its private port, with the fields that the operator reads. */
export const RuntimeStatus = z.object({
  /** SHA-256 (hex) of the active run configuration file. */
  config_digest: word.optional(),
  config_refused: z.object({ message: text(16_384) }).nullish(),
  ready: z.boolean().default(true),
  backends: listOf(BackendStatus, MOST_BACKENDS).default([]),
  /** Number of tools after aggregation; null while unknown. */
  tools: z.int().nullable().default(null),
  /** Names dropped by conflicts, and other warnings for the administrator. */
  warnings: listOf(text(4096), MOST_WARNINGS).default([]),
  auth_server: AuthServerStatus.nullable().default(null),
});
export type RuntimeStatus = z.infer<typeof RuntimeStatus>;
