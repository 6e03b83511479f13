import { z } from 'zod';
import {
  AddedHeaderName,
  DnsLabel,
  durationBetween,
  HostPattern,
  HttpUrl,
  IdentifierUrl,
  Scopes,
  text,
} from './primitives.ts';
import { listByKey } from './collections.ts';
import { identityAssertionRules, IdentityAssertionIssuer, MOST_ISSUERS } from './identity-assertions.ts';
import { DEFAULTS, LONGEST_LOGIN_DAYS } from './defaults.ts';
import { secureUrl, urlIsSecure } from './oidc-config.ts';
import { SecretKeyRef } from './references.ts';
import { RegisteredClient } from './registered-client.ts';
import { type Rule, valueAt, withRules } from './rule.ts';
import { AuthServerStorage } from './storage.ts';
import { type UpstreamProvider, UpstreamProvider as Provider } from './upstream-provider.ts';

const Count = z.int().min(1).max(1_000_000);

const identity = {
  issuer: IdentifierUrl.describe('Issuer of the JWTs. Must equal the issuer in incomingAuth.'),
  authorizationEndpointBaseUrl: IdentifierUrl.optional().describe(
    'Replaces the issuer in `authorization_endpoint` alone; all other endpoints derive from issuer.',
  ),
  insecureAllowHTTP: z.boolean().default(false).describe('Allow http URLs that are not on loopback.'),
};

const keys = {
  signingKeySecretRefs: z
    .array(SecretKeyRef)
    .max(16)
    .optional()
    .describe('Private keys: the first signs, all verify. Absent: a key that is lost at a restart.'),
  hmacSecretRefs: z
    .array(SecretKeyRef)
    .max(16)
    .optional()
    .describe('Secrets of codes and refresh tokens: the first makes, all check. Absent: lost at a restart.'),
  tokenLifespans: z
    .strictObject({
      accessTokenLifespan: durationBetween('1m', '24h')
        .default(DEFAULTS.accessTokenLifespan)
        .describe('Lifetime of access tokens.'),
      refreshTokenLifespan: durationBetween('1h', `${LONGEST_LOGIN_DAYS}d`)
        .default(DEFAULTS.refreshTokenLifespan)
        .describe(
          `Lifetime of refresh tokens; slides with use. A login ends after ${LONGEST_LOGIN_DAYS} d whatever happens.`,
        ),
      authCodeLifespan: durationBetween('30s', '10m')
        .default(DEFAULTS.authCodeLifespan)
        .describe('Lifetime of authorization codes.'),
    })
    .prefault({})
    .describe('Lifetimes of tokens and codes.'),
};

const clients = {
  clients: listByKey(RegisteredClient, 64, 'clientId')
    .optional()
    .describe('Clients that the administrator registers, beside those that register themselves.'),
  identityAssertions: listByKey(IdentityAssertionIssuer, MOST_ISSUERS, 'issuer')
    .optional()
    .describe(
      'Identity providers whose assertions (ID-JAG) the clients of a company redeem: enterprise-managed authorization.',
    ),
  blockedUsers: z
    .array(text(255))
    .max(1_000)
    .optional()
    .describe('Users who get no tokens, and whose tokens are refused: their `sub`, which is `user_id` in audit lines.'),
  scopesSupported: Scopes.default([...DEFAULTS.scopesSupported]).describe('Scopes that clients may ask for.'),
  cimd: z
    .strictObject({ enabled: z.boolean().default(false).describe('Accept and advertise them.') })
    .prefault({})
    .describe('Client ID metadata documents.'),
  registration: z
    .strictObject({
      enabled: z.boolean().default(true).describe('Clients may register themselves (RFC 7591).'),
      allowedRedirectHosts: z
        .array(HostPattern)
        .max(64)
        .optional()
        .describe('Hosts of https redirect URIs; absent: all. Loopback is always allowed.'),
    })
    .prefault({})
    .describe('Dynamic client registration.'),
  introspectionClients: listByKey(
    z.strictObject({
      clientId: text(512).describe('Client identifier.'),
      clientSecretRef: SecretKeyRef.describe('Client secret.'),
    }),
    16,
    'clientId',
  )
    .optional()
    .describe('Clients that may call /oauth/introspect. Without any, the endpoint does not exist.'),
};

const bounds = {
  storage: AuthServerStorage.prefault({}).describe(
    'Storage of logins and upstream tokens. Default: memory; on one machine a file, which outlives a restart.',
  ),
  revalidateAfter: durationBetween('1m', '24h')
    .default(DEFAULTS.revalidateAfter)
    .describe('A refresh this long after the last time asks the primary provider whether the user still exists.'),
  limits: z
    .strictObject({
      registrationsPerMinute: Count.default(DEFAULTS.registrationsPerMinute).describe('Registrations of one address.'),
      clients: Count.default(DEFAULTS.registeredClients).describe('Registered clients.'),
      pendingLogins: Count.default(DEFAULTS.pendingLogins).describe('Pending logins.'),
      pendingLoginLifespan: durationBetween('1m', '1h')
        .default(DEFAULTS.pendingLoginLifespan)
        .describe('Longest time that a login may take.'),
    })
    .prefault({})
    .describe('Bounds.'),
};

const fields = (providers: z.ZodType<UpstreamProvider[]>) => ({
  ...identity,
  upstreamProviders: providers.describe('Identity providers; a login visits them in this order.'),
  primaryUpstreamProvider: DnsLabel.optional().describe(
    'The provider that says who the user is; default the first required one.',
  ),
  ...keys,
  ...clients,
  ...bounds,
});

interface Providers {
  upstreamProviders: UpstreamProvider[];
  primaryUpstreamProvider?: string | undefined;
}

const primaryIsRequired: Rule<Providers> = {
  at: ['primaryUpstreamProvider'],
  message: 'the primary provider must be an entry of upstreamProviders with required: true; name one that is',
  holds: ({ upstreamProviders, primaryUpstreamProvider }) =>
    upstreamProviders.length === 0 ||
    upstreamProviders.some(({ name, required }) => required && name === (primaryUpstreamProvider ?? name)),
  cel: 'self.upstreamProviders.size() == 0 || self.upstreamProviders.exists(p, (!has(p.required) || p.required) && (!has(self.primaryUpstreamProvider) || p.name == self.primaryUpstreamProvider))',
};

const UPSTREAM_URLS = [
  ['oidcConfig', 'issuerUrl'],
  ['oidcConfig', 'userInfoOverride', 'endpointUrl'],
  ['oauth2Config', 'authorizationEndpoint'],
  ['oauth2Config', 'tokenEndpoint'],
  ['oauth2Config', 'userInfo', 'endpointUrl'],
];

function insecureUrls({ upstreamProviders }: Providers): (string | number)[][] {
  const isInsecure = (url: unknown) => HttpUrl.safeParse(url).success && !urlIsSecure.holds(url);
  return upstreamProviders.flatMap((provider, index) =>
    UPSTREAM_URLS.filter((path) => isInsecure(valueAt(provider, path))).map((path) => [
      'upstreamProviders',
      index,
      ...path,
    ]),
  );
}

/** Secrets and codes are sent to these URLs. */
const secureUpstreams: Rule<Providers & { insecureAllowHTTP: boolean }> = {
  at: ['upstreamProviders'],
  message: 'an http URL of a provider is allowed on loopback only; write https URLs, or set insecureAllowHTTP to true',
  holds: (value) => value.insecureAllowHTTP || insecureUrls(value).length === 0,
  places: insecureUrls,
  cel: `self.insecureAllowHTTP || self.upstreamProviders.all(p, ${UPSTREAM_URLS.map(
    (path) => `(${urlIsSecure.cel(path, 'p')})`,
  ).join(' && ')})`,
};

interface Clients {
  clients?: RegisteredClient[] | undefined;
  identityAssertions?: IdentityAssertionIssuer[] | undefined;
  scopesSupported: string[];
  insecureAllowHTTP: boolean;
}

function insecureKeySets({ clients = [] }: Clients): (string | number)[][] {
  return clients.flatMap(({ jwksUrl }, index) => (urlIsSecure.holds(jwksUrl) ? [] : [['clients', index, 'jwksUrl']]));
}

/** An attacker who changes the keys in transit can authenticate as the client. */
const secureKeySets: Rule<Clients> = {
  at: ['clients'],
  message:
    'the keys of a client are read by http on loopback only; write an https URL, or set insecureAllowHTTP to true',
  holds: (value) => value.insecureAllowHTTP || insecureKeySets(value).length === 0,
  places: insecureKeySets,
  cel: `self.insecureAllowHTTP || !has(self.clients) || self.clients.all(c, ${urlIsSecure.cel(['jwksUrl'], 'c')})`,
};

function unknownScopes({ clients = [], scopesSupported }: Clients): (string | number)[][] {
  return clients.flatMap(({ scopes = [] }, index) =>
    scopes.flatMap((scope, at) => (scopesSupported.includes(scope) ? [] : [['clients', index, 'scopes', at]])),
  );
}

// Three nested lists exceed the cost that the API server allows a CEL rule, so only the refinement checks this.
const scopesAreSupported: Rule<Clients> = {
  at: ['clients'],
  message: 'a client has a scope that is not in scopesSupported; write it there, or remove it here',
  holds: (value) => unknownScopes(value).length === 0,
  places: unknownScopes,
};

const rules = [
  secureKeySets,
  scopesAreSupported,
  ...identityAssertionRules,
  secureUrl(['issuer'], ['insecureAllowHTTP']),
  secureUrl(['authorizationEndpointBaseUrl'], ['insecureAllowHTTP']),
  secureUpstreams,
  primaryIsRequired,
] as const;

export const AuthServerConfig = withRules(z.strictObject(fields(listByKey(Provider, 32, 'name').min(1))), ...rules);
export type AuthServerConfig = z.infer<typeof AuthServerConfig>;

/** The embedded authorization server of a single MCPServer: one provider, whose token replaces the caller's. */
export const EmbeddedAuthServer = withRules(
  z.strictObject({
    ...fields(listByKey(Provider, 1, 'name').min(1)),
    headerStrategy: z
      .enum(['replace', 'custom'])
      .default('replace')
      .describe('`replace`: the token goes into Authorization; `custom`: into customHeaderName.'),
    customHeaderName: AddedHeaderName.optional().describe('Header of the token, with headerStrategy custom.'),
  }),
  ...rules,
  {
    at: ['customHeaderName'],
    message: 'belongs to headerStrategy custom, which needs it; write both or neither',
    holds: (value) => (valueAt(value, ['headerStrategy']) === 'custom') === (value.customHeaderName !== undefined),
    cel: "(self.headerStrategy == 'custom') == has(self.customHeaderName)",
  },
);
export type EmbeddedAuthServer = z.infer<typeof EmbeddedAuthServer>;
