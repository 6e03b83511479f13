import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';

export interface Issuer {
  url: string;
  provider: Provider;
  /** Requested paths. */
  asked: string[];
  close(): Promise<void>;
}

/** Client of users and client of vmcp. */
export const PERSON = 'vmcp-for-people';
export const PROGRAM = { id: 'vmcp-by-itself', secret: 'the secret of the program' };

/** Serves a real OpenID provider with client credentials and device logins (RFC 8628). */
export async function serveIssuer({ deviceFlow = true, lifetime = 600 } = {}): Promise<Issuer> {
  const asked: string[] = [];
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, configure(deviceFlow, lifetime));
  const answer = provider.callback();
  server.on('request', (request, response) => {
    asked.push(request.url ?? '');
    void answer(request, response);
  });
  return {
    url,
    provider,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function configure(deviceFlow: boolean, lifetime: number): Configuration {
  return {
    clients: [
      {
        client_id: PERSON,
        token_endpoint_auth_method: 'none',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: PROGRAM.id,
        client_secret: PROGRAM.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['openid', 'offline_access', 'catalogue'],
    cookies: { keys: ['a key of the tests'] },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    issueRefreshToken: () => true,
    ttl: {
      AccessToken: lifetime,
      ClientCredentials: lifetime,
      DeviceCode: 60,
      Grant: 600,
      RefreshToken: 600,
      Session: 600,
    },
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: deviceFlow },
      devInteractions: { enabled: false },
    },
  };
}

/** Completes a device login as the user would, without the pages of the provider. */
export async function finishDevice({ provider }: Issuer, userCode: string, sub = 'alice'): Promise<void> {
  const code = await provider.DeviceCode.findByUserCode(userCode.replaceAll('-', ''), { ignoreExpiration: false });
  if (code === undefined) throw new Error('there is no such login');
  const grant = new provider.Grant({ accountId: sub, clientId: PERSON });
  grant.addOIDCScope('openid offline_access catalogue');
  Object.assign(code, {
    accountId: sub,
    grantId: await grant.save(),
    scope: 'openid offline_access catalogue',
    authTime: Math.floor(Date.now() / 1000),
    sessionUid: 'the session',
    claims: {},
  });
  await code.save();
}

/** Returns whether the provider issued this token and it is still valid. */
export async function isGood({ provider }: Issuer, header: string | undefined): Promise<boolean> {
  const token = header?.replace(/^Bearer /, '') ?? '';
  const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
  return found?.isValid ?? false;
}
