import Provider, { type AdapterConstructor, type Configuration } from 'oidc-provider';
import { describeResource, PASSWORD, registerPasswordGrant, registerTokenExchange, TOKEN_EXCHANGE } from './grants.ts';
import { fitLoginPages } from './login-pages.ts';
import type { SigningKeys } from './signing-keys.ts';
import { CLI_CLIENT, GATEWAY_CLIENT, USERS } from './users.ts';

export interface ProviderSettings {
  issuer: string;
  keys: SigningKeys;
  /** Seconds that an access token lives. */
  tokenLifetime: number;
  /** Audiences for which tokens may be exchanged; absent: any. */
  audiences: string[] | undefined;
  /** Redirect addresses of the gateway's own login. */
  redirectUris: string[];
  /** Access tokens are opaque and open the user-info endpoint, which alone tells name and email. */
  opaque?: boolean;
  /** Whether a secret is one of the gateway's client. */
  isClientSecret: (secret: string) => boolean;
  cookieKey: string;
  /** Where it keeps sessions, codes and tokens; absent: in memory. */
  adapter?: AdapterConstructor | undefined;
}

/** The OpenID provider with its users, clients and grants. */
export function createProvider(settings: ProviderSettings): Provider {
  const provider = new Provider(settings.issuer, configure(settings));
  fitLoginPages(provider);
  takeSecrets(provider, settings.isClientSecret);
  registerPasswordGrant(provider, settings.tokenLifetime);
  registerTokenExchange(provider, {
    keys: settings.keys,
    lifetime: settings.tokenLifetime,
    audiences: settings.audiences,
  });
  return provider;
}

/** The library knows one secret of a client. */
function takeSecrets({ Client }: Provider, isClientSecret: ProviderSettings['isClientSecret']): void {
  Client.prototype.compareClientSecret = function (secret) {
    return this.clientId === GATEWAY_CLIENT.id ? isClientSecret(secret) : this.clientSecret === secret;
  };
}

/** Browsers keep cookies by host, whatever the port: providers on one machine must not overwrite each other's. */
function cookieNames(issuer: string): Record<'session' | 'interaction' | 'resume', string> {
  const { port } = new URL(issuer);
  return { session: `_session_${port}`, interaction: `_interaction_${port}`, resume: `_interaction_resume_${port}` };
}

function clientsOf(redirectUris: string[]): NonNullable<Configuration['clients']> {
  const hasLogin = redirectUris.length > 0;
  return [
    {
      client_id: GATEWAY_CLIENT.id,
      client_secret: GATEWAY_CLIENT.secret,
      grant_types: hasLogin ? [TOKEN_EXCHANGE, 'authorization_code', 'refresh_token'] : [TOKEN_EXCHANGE],
      redirect_uris: redirectUris,
      response_types: hasLogin ? ['code'] : [],
    },
    {
      client_id: CLI_CLIENT.id,
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      grant_types: [PASSWORD],
      redirect_uris: [],
      response_types: [],
    },
  ];
}

/** Who there is, and what tokens say of them. */
const PEOPLE: Pick<Configuration, 'findAccount' | 'extraTokenClaims'> = {
  findAccount: (_context, sub) => {
    const user = USERS[sub];
    if (!user) return undefined;
    const { name, email, groups } = user;
    return { accountId: sub, claims: () => ({ sub, name, email, email_verified: true, groups }) };
  },
  extraTokenClaims: (context, token) => {
    const user = 'accountId' in token ? USERS[token.accountId] : undefined;
    const exchanged = context.oidc.params?.grant_type === TOKEN_EXCHANGE;
    // RFC 8693 §4.1: who acts for the user.
    const actor = exchanged ? { act: { sub: token.clientId } } : {};
    return user ? { groups: user.groups, email: user.email, name: user.name, ...actor } : actor;
  },
};

function configure(settings: ProviderSettings): Configuration {
  const { issuer, keys, tokenLifetime, redirectUris, cookieKey, opaque = false, adapter } = settings;
  return {
    ...(adapter ? { adapter } : {}),
    jwks: { keys: keys.private },
    cookies: { keys: [cookieKey], names: cookieNames(issuer) },
    conformIdTokenClaims: opaque,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    scopes: ['openid', 'offline_access', 'profile', 'email', 'mcp', 'read', 'write', 'mcp:tools', 'mcp:read'],
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
    clientBasedCORS: () => true,
    ttl: {
      AccessToken: tokenLifetime,
      Grant: 86_400,
      IdToken: 3_600,
      Interaction: 600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
    clients: clientsOf(redirectUris),
    ...PEOPLE,
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => (opaque ? [] : issuer),
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, identifier) => describeResource(identifier, tokenLifetime),
      },
    },
  };
}
