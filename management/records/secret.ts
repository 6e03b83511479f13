import { z } from 'zod';
import { NEXT_CURSOR, PAGING } from '../paging.ts';
import { LONGEST_VALUE, PROVIDER_TYPES } from '../secrets/secrets.ts';

const SecretKey = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._A-Za-z0-9]+$/, 'not a key; write letters, digits, hyphens, dots and underscores')
  .regex(/^(?!\.\.)(?!\.$)/, 'not a key; write no dot alone, and no two dots first')
  .describe('Key: what resources name as `<secret>/<key>`, the secret being `vmcp-secrets`.');

const SecretValue = z
  .string()
  .min(1)
  .max(LONGEST_VALUE)
  .refine((value) => Buffer.byteLength(value) <= LONGEST_VALUE, `longer than ${LONGEST_VALUE} bytes in UTF-8`)
  .regex(/^[^\u0000]*$/, 'no text: it has NUL')
  .refine((value) => value.isWellFormed(), 'no text: it has halves of characters')
  .describe(`Value, at most ${LONGEST_VALUE} bytes in UTF-8. It is never returned.`);

export const SecretInPath = z.strictObject({ key: SecretKey });
export const NewSecret = z.strictObject({ key: SecretKey, value: SecretValue });
export const ChangedSecret = z.strictObject({ value: SecretValue });

const ProviderType = z.enum(PROVIDER_TYPES).describe('Kind of the secrets provider.');

export const SecretsSetup = z.strictObject({
  provider_type: ProviderType,
  password: z
    .string()
    .max(1024)
    .optional()
    .describe(
      'Password of the encrypted secrets; absent: that of the environment of vmcp. Another one than before: they are sealed anew.',
    ),
});

export const SecretsSetUp = z.strictObject({
  provider_type: ProviderType,
  message: z.string().describe('What was done, for people.'),
});

export const SecretDone = z.strictObject({
  key: z.string().describe('Key of the secret.'),
  message: z.string().describe('What was done, and how resources name it.'),
});

export const SecretKeys = z.strictObject({
  provider_type: ProviderType,
  keys: z.array(z.strictObject({ key: z.string().describe('Key of a secret.') })).describe('Sorted by key.'),
  next_cursor: NEXT_CURSOR,
});

export const SecretPage = z.strictObject(PAGING);
