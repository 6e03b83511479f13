import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRemoteJWKSet, jwtVerify, type JWK, type JWTPayload } from 'jose';
import Provider, { errors } from 'oidc-provider';
import { describeResource, issueAccessToken } from './grants.ts';
import { TARGET_CLIENT } from './id-jag.ts';
import type { IdentityProvider } from './serve.ts';
import { createSigningKeys } from './signing-keys.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const LIFETIME = 300;

/** An authorization server of a backend that trusts an identity provider. */
export interface TargetServer {
  readonly issuer: string;
  readonly tokenUrl: string;
  /** `jti` of the redeemed assertions, in order. */
  readonly redeemed: readonly string[];
  /** Ids of the clients that got a token by their own credentials, in order. */
  readonly clients: readonly string[];
  close(): Promise<void>;
}

export const KEY_CLIENT = 'vmcp-with-key';

interface AssertionParameters {
  assertion?: string;
  resource?: string;
  scope?: string;
}

interface Trust {
  readonly issuer: string;
  readonly keys: ReturnType<typeof createRemoteJWKSet>;
  readonly redeemed: string[];
}

/** Checks an assertion as the MCP profile demands. */
async function readAssertion(params: AssertionParameters, audience: string, client: string, trust: Trust) {
  let payload: JWTPayload;
  try {
    const expected = { issuer: trust.issuer, audience, typ: 'oauth-id-jag+jwt', requiredClaims: ['jti', 'exp', 'sub'] };
    ({ payload } = await jwtVerify(params.assertion ?? '', trust.keys, expected));
  } catch {
    throw new errors.InvalidGrant('the assertion is not valid');
  }
  const { client_id: named, resource, jti = '' } = payload;
  if (named !== client) throw new errors.InvalidGrant('the assertion is for another client');
  if (resource !== params.resource) throw new errors.InvalidGrant('the assertion is for another resource');
  if (trust.redeemed.includes(jti)) throw new errors.InvalidGrant('the assertion has been redeemed');
  trust.redeemed.push(jti);
  return payload;
}

function registerJwtBearer(provider: Provider, trust: Trust): void {
  provider.registerGrantType<AssertionParameters>(
    JWT_BEARER,
    async (context) => {
      const { params, client } = context.oidc;
      const { sub: accountId = '' } = await readAssertion(params, provider.issuer, client.clientId, trust);
      const { resource: audience = provider.issuer, scope = '' } = params;
      const issue = { provider, client, accountId, audience, scope, gty: JWT_BEARER, lifetime: LIFETIME };
      context.body = await issueAccessToken(context, issue);
    },
    ['assertion', 'resource', 'scope'],
  );
}

/** The library clones configured clients, and refuses the clone of a key that is made inside Jest. */
function addKeyClient({ Client }: Provider, key: JWK): void {
  const find = Client.find.bind(Client);
  const metadata = {
    client_id: KEY_CLIENT,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: { keys: [key] },
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  };
  const client = Reflect.construct(Client, [metadata]) as InstanceType<typeof Client>;
  Client.find = (id) => (id === KEY_CLIENT ? Promise.resolve(client) : find(id));
}

function createTarget(issuer: string, signingKeys: JWK[], clientKey: JWK, redeemed: (client: string) => void) {
  const provider = new Provider(issuer, {
    jwks: { keys: signingKeys },
    scopes: ['read', 'write'],
    clients: [
      {
        client_id: TARGET_CLIENT.id,
        client_secret: TARGET_CLIENT.secret,
        grant_types: [JWT_BEARER, 'client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    ttl: { AccessToken: LIFETIME, ClientCredentials: LIFETIME, Grant: LIFETIME },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, identifier) => describeResource(identifier, LIFETIME),
      },
    },
  });
  addKeyClient(provider, clientKey);
  provider.on('client_credentials.issued', ({ clientId }) => redeemed(clientId ?? ''));
  return provider;
}

/**
 * Starts a real OpenID provider as the authorization server of a backend. It redeems assertions of the identity provider, and has two
 * clients: one with a secret, and one with the public key `clientKey`.
 */
export async function serveTarget(idp: IdentityProvider, clientKey: JWK): Promise<TargetServer> {
  const keys = await createSigningKeys();
  const [redeemed, clients]: [string[], string[]] = [[], []];
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const provider = createTarget(issuer, keys.private, clientKey, (client) => clients.push(client));
  registerJwtBearer(provider, { issuer: idp.issuer, keys: createRemoteJWKSet(new URL(idp.jwksUrl)), redeemed });
  const answer = provider.callback();
  http.on('request', (request, response) => void answer(request, response));
  return {
    issuer,
    tokenUrl: `${issuer}/token`,
    redeemed,
    clients,
    close() {
      http.closeAllConnections();
      return new Promise((resolve) => http.close(() => resolve()));
    },
  };
}
