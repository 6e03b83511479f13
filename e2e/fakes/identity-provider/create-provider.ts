import Provider, { type AdapterConstructor, type Configuration } from 'oidc-provider';
import { describeResource, PASSWORD, registerPasswordGrant, registerTokenExchange, TOKEN_EXCHANGE } from './grants.ts';
import { fitLoginPages } from './login-pages.ts';
import type { SigningKeys } from './signing-keys.ts';
import { CLI_CLIENT, GATEWAY_CLIENT, USERS } from './users.ts';

export interface ProviderSettings {
  issuer: string;
  keys: SigningKeys;
  /** Lifetime of an access token, in seconds. */
  tokenLifetime: number;
  /** Audiences for which tokens may be exchanged; absent: any. */
  audiences: string[] | undefined;
  /** Redirect addresses of the gateway's own login. */
  redirectUris: string[];
  /** Access tokens are opaque and open the user-info endpoint, the only source of name and email. */
  opaque?: boolean;
  /** Returns whether the gateway's client may use a secret. */
  isClientSecret: (secret: string) => boolean;
  cookieKey: string;
  /** Storage of sessions, codes and tokens; absent: in memory. */
  adapter?: AdapterConstructor | undefined;
}

/** Creates the OpenID provider with its users, clients and grants. */
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

/** Replaces the comparison of secrets, as the library knows only one secret of a client. */
function takeSecrets({ Client }: Provider, isClientSecret: ProviderSettings['isClientSecret']): void {
  Client.prototype.compareClientSecret = function (secret) {
    return this.clientId === GATEWAY_CLIENT.id ? isClientSecret(secret) : this.clientSecret === secret;
  };
}

/** Browsers share cookies between the ports of a host, so the providers of one machine need different names. */
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

/** The accounts, and the claims of their tokens. */
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
    // RFC 8693 §4.1: the client acts for the user.
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
