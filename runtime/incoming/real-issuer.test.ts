import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';
import { request } from 'undici';
import { RESOURCE, startEndpoint } from './testdata/endpoint.ts';
import { closeServer, listen } from './testdata/fake-issuer.ts';

const SECRET = 'a-secret-of-the-test';
const OPAQUE = 'https://mcp.example.com/opaque';

describe('authenticator with a real OpenID provider', () => {
  let server: Server;
  let issuer: string;
  let folder: string;

  beforeAll(async () => {
    // The provider warns at length that its defaults are for development.
    for (const method of ['warn', 'info'] as const) jest.spyOn(console, method).mockReturnValue(undefined);
    folder = await mkdtemp(join(tmpdir(), 'vmcp-issuer-'));
    await writeFile(join(folder, 'secret'), SECRET);
    server = createServer((req, res) => void provider.callback()(req, res));
    issuer = `http://127.0.0.1:${await listen(server)}`;
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const client = {
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    };
    const provider = new Provider(issuer, {
      jwks: { keys: [{ ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256', kid: 'r1' }] },
      clients: [
        { ...client, client_id: 'app' },
        { ...client, client_id: 'gate' },
      ],
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        introspection: { enabled: true },
        revocation: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_ctx, resource) => ({
            scope: 'mcp',
            audience: resource,
            accessTokenFormat: resource === OPAQUE ? 'opaque' : 'jwt',
          }),
        },
      },
    });
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await closeServer(server);
    await rm(folder, { recursive: true });
  });

  const post = async (path: string, form: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: 'app', client_secret: SECRET, ...form }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await request(`${issuer}${path}`, { method: 'POST', headers, body });
    return answer.body.text();
  };
  const tokenFor = async (resource: string) => {
    const answer = await post('/token', { grant_type: 'client_credentials', scope: 'mcp', resource });
    return (JSON.parse(answer) as { access_token: string }).access_token;
  };
  const open = (resourceUrl: string) =>
    startEndpoint(
      { issuer, scopes: ['mcp'], client_id: 'gate', client_secret_file: join(folder, 'secret') },
      { resourceUrl, now: Date.now },
    );

  it('verifies its JWTs by discovery and refuses those for another resource', async () => {
    const endpoint = await open(RESOURCE);
    const answer = await endpoint.call(await tokenFor(RESOURCE));
    expect(answer.status).toBe(200);
    expect(answer.identity).toMatchObject({ issuer, subject: 'app', clientId: 'app', scopes: ['mcp'] });
    expect((await endpoint.call(await tokenFor('https://mcp.example.com/sibling'))).status).toBe(401);
    await endpoint.close();
  });

  it('introspects its opaque tokens, and refuses one that is revoked or for another resource', async () => {
    const endpoint = await open(OPAQUE);
    const [good, revoked] = [await tokenFor(OPAQUE), await tokenFor(OPAQUE)];
    await post('/token/revocation', { token: revoked });
    const answer = await endpoint.call(good);
    expect(answer.status).toBe(200);
    expect(answer.identity).toMatchObject({ issuer, subject: 'app', scopes: ['mcp'] });
    expect((await endpoint.call(revoked)).status).toBe(401);
    await endpoint.close();
    const sibling = await open(RESOURCE);
    expect((await sibling.call(good)).status).toBe(401);
    await sibling.close();
  });
});
