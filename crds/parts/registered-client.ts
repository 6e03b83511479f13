import { z } from 'zod';
import { LOOPBACK_HOST } from './private-address.ts';
import { HttpUrl, Scopes, text } from './primitives.ts';
import { findRedirectUriFault, isWebRedirect, MAX_REDIRECT_URIS, MAX_URI_LENGTH } from './redirect-uri.ts';
import { CaBundleRef, SecretKeyRef } from './references.ts';
import { celString, needs, type Rule, withRules } from './rule.ts';

/** Unreserved characters only (RFC 3986 §2.3): they are the same in Basic credentials, whether a client form-encodes these or not. */
const CLIENT_ID = /^[A-Za-z0-9._~-]{1,255}$/;
/** Users and dynamically registered clients have ids of this form: SHA-256 or 32 random bytes in base64url. */
const GENERATED_ID = /^[A-Za-z0-9_-]{43}$/;
const RESERVED_ID = `^(anonymous|[A-Za-z0-9_-]{43})$`;

/** Returns whether the id has the form of those that this server makes. */
export const isGeneratedId = (id: string): boolean => GENERATED_ID.test(id);

const ClientId = withRules(
  text(255).regex(CLIENT_ID, 'not a client id; write letters, digits, dots, hyphens, underscores and tildes'),
  {
    at: [],
    message: 'reserved: policies name users and anonymous callers by such ids; write another id',
    holds: (id) => !new RegExp(RESERVED_ID).test(id),
    cel: `!self.matches('${RESERVED_ID}')`,
  },
);

const PRIVATE_MEMBERS = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth'];
const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())).min(1).max(32) });

/** Returns the key set of a text. Undefined: the text is no key set, or has a key that is not public. */
export function parsePublicKeys(json: string): z.infer<typeof KeySet> | undefined {
  try {
    const parsed = KeySet.safeParse(JSON.parse(json));
    const isPublic = parsed.data?.keys.every((key) => PRIVATE_MEMBERS.every((member) => !(member in key)));
    return isPublic === true ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

const RedirectUri = text(MAX_URI_LENGTH).superRefine((uri, context) => {
  const fault = findRedirectUriFault(uri);
  if (fault === undefined) return;
  const remedy = 'write an https URL, an http URL on loopback, or a URI with a scheme of the application';
  context.addIssue({ code: 'custom', message: `not a redirect URI: ${fault}; ${remedy}` });
});

const CREDENTIALS = ['clientSecretRef', 'jwks', 'jwksUrl'] as const;
const CEL_CREDENTIALS = '[has(self.clientSecretRef), has(self.jwks), has(self.jwksUrl)]';

const HTTPS_ON_LOOPBACK = `^https://${LOOPBACK_HOST}(:[0-9]+)?([/?]|$)`;

const Fields = z.strictObject({
  clientId: ClientId.describe('Client identifier.'),
  displayName: text(100).optional().describe('Name on the consent page and in audit lines.'),
  verified: z.boolean().default(false).describe('The consent page shows displayName as verified by the administrator.'),
  clientSecretRef: SecretKeyRef.optional().describe(
    'Client secret, for client_secret_basic and client_secret_post. Without it and without keys the client is public.',
  ),
  jwks: text(32_768)
    .refine((json) => parsePublicKeys(json) !== undefined, {
      error: 'not a JSON Web Key Set with public keys only; write {"keys": […]} without private members such as d',
    })
    .optional()
    .describe('Public keys of the client as a JSON Web Key Set, for private_key_jwt.'),
  jwksUrl: HttpUrl.optional().describe('URL of the public keys of the client, for private_key_jwt.'),
  caBundleRef: CaBundleRef.optional(),
  redirectUris: z
    .array(RedirectUri)
    .min(1)
    .max(MAX_REDIRECT_URIS)
    .optional()
    .describe('Redirect URIs, compared byte for byte except the port of loopback URIs.'),
  grants: z
    .array(z.enum(['authorization_code', 'client_credentials']))
    .min(1)
    .max(2)
    .default(['authorization_code'])
    .describe(
      '`authorization_code`: users log in, with refresh tokens. `client_credentials`: the client acts as itself, and policies see it as Client::"<clientId>".',
    ),
  scopes: Scopes.min(1).optional().describe('Scopes that the client may get, of scopesSupported; absent: all of them.'),
  consent: z
    .enum(['required', 'implicit'])
    .default('required')
    .describe('`implicit`: users are not asked. Only with https redirect URIs that are not on loopback.'),
});
type Fields = z.infer<typeof Fields>;

const rules: readonly Rule<Fields>[] = [
  {
    at: [],
    message: 'needs at most one of clientSecretRef, jwks and jwksUrl; keep one',
    holds: (client) => CREDENTIALS.filter((name) => client[name] !== undefined).length <= 1,
    cel: `${CEL_CREDENTIALS}.filter(written, written).size() <= 1`,
  },
  {
    at: ['grants'],
    message:
      'client_credentials needs clientSecretRef, jwks or jwksUrl: a public client has nothing to prove itself with',
    holds: (client) =>
      !client.grants.includes('client_credentials') || CREDENTIALS.some((name) => client[name] !== undefined),
    cel: `!has(self.grants) || !('client_credentials' in self.grants) || ${CEL_CREDENTIALS}.exists(written, written)`,
  },
  {
    at: ['redirectUris'],
    message: 'belongs to the grant authorization_code, which needs it; write both or neither',
    holds: ({ grants, redirectUris }) => grants.includes('authorization_code') === (redirectUris !== undefined),
    cel: "(!has(self.grants) || 'authorization_code' in self.grants) == has(self.redirectUris)",
  },
  {
    at: ['consent'],
    message:
      'implicit needs https redirect URIs that are not on loopback, as any program of the machine can take the place of others; write required',
    holds: ({ consent, redirectUris = [] }) => consent === 'required' || redirectUris.every(isWebRedirect),
    cel: `!has(self.consent) || self.consent == 'required' || !has(self.redirectUris) || self.redirectUris.all(u, u.startsWith('https://') && !u.matches(${celString(HTTPS_ON_LOOPBACK)}))`,
  },
  {
    at: ['verified'],
    message: 'needs displayName, which it vouches for; write displayName',
    holds: ({ verified, displayName }) => !verified || displayName !== undefined,
    cel: '!has(self.verified) || !self.verified || has(self.displayName)',
  },
  needs(['caBundleRef'], ['jwksUrl']),
];

export const RegisteredClient = withRules(Fields, ...rules);
export type RegisteredClient = z.infer<typeof RegisteredClient>;
