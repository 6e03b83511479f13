import { z } from 'zod';
import { listByKey } from './collections.ts';
import { DEFAULTS, LONGEST_ASSERTION_HOURS } from './defaults.ts';
import { urlIsSecure } from './oidc-config.ts';
import { durationBetween, HttpUrl, IdentifierUrl, Scopes, text } from './primitives.ts';
import { CaBundleRef, SecretKeyRef } from './references.ts';
import { notBoth, type Rule, withRules } from './rule.ts';

const Claim = text(256);

/** Maximum number of issuers. The admission policy has an expression for the clients of each. */
export const MOST_ISSUERS = 8;

/** A client has one identifier at both servers: a word, or the https URL of its metadata document. */
const CLIENT_ID = /^([A-Za-z0-9._~-]{1,255}|https:\/\/[A-Za-z0-9._~:\/?&=%@+,;-]+)$/;

const ClientFields = z.strictObject({
  clientId: text(2048)
    .regex(CLIENT_ID, 'not a client id; write letters, digits, dots, hyphens, underscores and tildes, or an https URL')
    .describe('Client identifier in the assertions and at the token endpoint.'),
  clientSecretRef: SecretKeyRef.optional().describe('Client secret, for client_secret_basic and client_secret_post.'),
  jwksUrl: HttpUrl.optional().describe('URL of the public keys of the client, for private_key_jwt.'),
});
type ClientFields = z.infer<typeof ClientFields>;

const AssertionClient = withRules(ClientFields, notBoth(['clientSecretRef'], ['jwksUrl']));

/** An identity provider whose assertions (ID-JAG) log its users in at clients of the company. */
export const IdentityAssertionIssuer = z.strictObject({
  issuer: IdentifierUrl.describe('Issuer of the assertions, compared byte for byte with `iss`.'),
  jwksUrl: HttpUrl.describe('URL of the keys that sign the assertions.'),
  caBundleRef: CaBundleRef.optional(),
  clients: listByKey(AssertionClient, 64, 'clientId')
    .min(1)
    .describe(
      'Clients that may redeem assertions. Without a secret and keys: a public client, or an entry of `authServerConfig.clients`.',
    ),
  subjectClaim: Claim.default('sub').describe(
    'Claim that identifies the user. If issuer and subjectClaim are those of the primary provider, it is the same user as at a login.',
  ),
  emailClaim: Claim.default('email').describe('Claim with the email address.'),
  groupsClaim: Claim.optional().describe('Claim with the groups. Absent: groupsClaim of incomingAuth.'),
  tenant: text(256)
    .optional()
    .describe('`tenant` that the assertions must have. Absent: assertions with a tenant are refused.'),
  scopes: Scopes.min(1)
    .optional()
    .describe('Scopes that an assertion may give, of scopesSupported; absent: all of them.'),
  maxLifetime: durationBetween('1m', `${LONGEST_ASSERTION_HOURS}h`)
    .default(DEFAULTS.assertionLifetime)
    .describe('Longest time between `iat` and `exp` of an assertion.'),
});
export type IdentityAssertionIssuer = z.infer<typeof IdentityAssertionIssuer>;

interface Issuers {
  identityAssertions?: IdentityAssertionIssuer[] | undefined;
  clients?: readonly { clientId: string }[] | undefined;
  cimd: { enabled: boolean };
  insecureAllowHTTP: boolean;
  scopesSupported: string[];
}

const hasCredential = ({ clientSecretRef, jwksUrl }: ClientFields) =>
  clientSecretRef !== undefined || jwksUrl !== undefined;

type Path = (string | number)[];

function clientsWhere(
  { identityAssertions = [] }: Pick<Issuers, 'identityAssertions'>,
  isWrong: (client: ClientFields) => boolean,
): Path[] {
  return identityAssertions.flatMap(({ clients }, index) =>
    clients.flatMap((client, at) => (isWrong(client) ? [['identityAssertions', index, 'clients', at]] : [])),
  );
}

function unknownScopes({ identityAssertions = [], scopesSupported }: Issuers): Path[] {
  return identityAssertions.flatMap(({ scopes = [] }, index) =>
    scopes.flatMap((scope, at) =>
      scopesSupported.includes(scope) ? [] : [['identityAssertions', index, 'scopes', at]],
    ),
  );
}

/** The client could otherwise authenticate with the weaker of two credentials. */
function secondCredentials(value: Issuers): Path[] {
  const seen = new Set(value.clients?.map(({ clientId }) => clientId));
  return clientsWhere(value, (client) => {
    if (!hasCredential(client)) return false;
    const isSecond = seen.has(client.clientId);
    seen.add(client.clientId);
    return isSecond;
  });
}

function unreadDocuments(value: Issuers): Path[] {
  if (value.cimd.enabled) return [];
  return clientsWhere(value, (client) => client.clientId.startsWith('https://') && !hasCredential(client));
}

/** An attacker who changes the keys in transit can act as each user of the issuer, or as the client. */
function insecureKeySets({ identityAssertions = [], insecureAllowHTTP }: Issuers): Path[] {
  const of = (path: Path, { jwksUrl }: { jwksUrl?: string | undefined }) =>
    insecureAllowHTTP || urlIsSecure.holds(jwksUrl) ? [] : [[...path, 'jwksUrl']];
  return identityAssertions.flatMap((issuer, index) => [
    ...of(['identityAssertions', index], issuer),
    ...issuer.clients.flatMap((client, at) => of(['identityAssertions', index, 'clients', at], client)),
  ]);
}

function rule(message: string, places: (value: Issuers) => Path[]): Rule<Issuers> {
  return { at: ['identityAssertions'], message, holds: (value) => places(value).length === 0, places };
}

// Rules over nested lists exceed the cost that the API server allows a CEL rule, so only the refinements check these.
export const identityAssertionRules = [
  rule(
    'these keys are read by http on loopback only; write an https URL, or set insecureAllowHTTP to true',
    insecureKeySets,
  ),
  rule('a scope is not in scopesSupported; write it there, or remove it here', unknownScopes),
  rule('the client has its credential in another entry already; remove it here', secondCredentials),
  rule(
    'the client is public and its id is the URL of a metadata document, which is not read; set cimd.enabled to true, or write its clientSecretRef or jwksUrl',
    unreadDocuments,
  ),
] as const;
