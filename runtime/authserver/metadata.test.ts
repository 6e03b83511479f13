import { afterEach, describe, expect, it } from '@jest/globals';
import { AuthServer } from '#crds/run-config/auth-server';
import { authServerMetadata } from './metadata.ts';
import { startTokenServer, type TokenServer } from './token/testdata/token-server.ts';

const UPSTREAMS = [{ type: 'oidc', name: 'okta', oidc_config: { client_id: 'v', issuer_url: 'https://okta.example' } }];
const DOCUMENTS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
const metadataOf = (config: object) => authServerMetadata(AuthServer.parse({ upstreams: UPSTREAMS, ...config }));

describe('authServerMetadata', () => {
  it('names every endpoint below the issuer, byte for byte, and browser endpoints below their own base', () => {
    expect(
      metadataOf({
        issuer: 'https://mcp.example.com/a',
        authorization_endpoint_base_url: 'https://login.example.com/b/',
      }),
    ).toEqual({
      issuer: 'https://mcp.example.com/a',
      authorization_endpoint: 'https://login.example.com/b/oauth/authorize',
      token_endpoint: 'https://mcp.example.com/a/oauth/token',
      registration_endpoint: 'https://mcp.example.com/a/oauth/register',
      revocation_endpoint: 'https://mcp.example.com/a/oauth/revoke',
      jwks_uri: 'https://mcp.example.com/a/.well-known/jwks.json',
      scopes_supported: ['mcp', 'offline_access'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
  });

  it('keeps the issuer with or without its final slash', () => {
    for (const issuer of ['https://mcp.example.com', 'https://mcp.example.com/', 'https://mcp.example.com/a/'])
      expect(metadataOf({ issuer })).toMatchObject({
        issuer,
        token_endpoint: `${issuer.replace(/\/$/, '')}/oauth/token`,
      });
  });

  it('omits features that are not enabled', () => {
    const issuer = 'https://mcp.example.com';
    const closed = metadataOf({ issuer, registration: { enabled: false } });
    for (const name of ['registration_endpoint', 'introspection_endpoint', 'client_id_metadata_document_supported'])
      expect(closed).not.toHaveProperty(name);
    const introspection_clients = [{ client_id: 'gate', client_secret_file: 'secret' }];
    expect(metadataOf({ issuer, cimd: { enabled: true }, introspection_clients })).toMatchObject({
      client_id_metadata_document_supported: true,
      introspection_endpoint: `${issuer}/oauth/introspect`,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    });
  });

  it('lists the authentication methods and grants of the registered clients', () => {
    const issuer = 'https://mcp.example.com';
    const redirect_uris = ['https://a.example/cb'];
    const a = { client_id: 'a', redirect_uris };
    expect(metadataOf({ issuer, clients: [a] })).toMatchObject({ token_endpoint_auth_methods_supported: ['none'] });
    const b = { client_id: 'b', client_secret_file: 'secret', redirect_uris };
    const c = { client_id: 'c', jwks_url: 'https://c.example/jwks', grants: ['client_credentials'] };
    const methods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];
    const document = metadataOf({ issuer, clients: [a, b, c] });
    expect(document).toMatchObject({
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    });
    for (const endpoint of ['token', 'revocation'])
      expect(document[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toContain('ES256');
  });

  it('lists the grant, the profile and the clients of identity assertions', () => {
    const issuer = 'https://mcp.example.com';
    const clients = [
      { client_id: 'a' },
      { client_id: 'b', client_secret_file: 's' },
      { client_id: 'c', jwks_url: 'https://c.example' },
    ];
    const idp = { issuer: 'https://idp.example', jwks_url: 'https://idp.example/keys', clients };
    expect(metadataOf({ issuer, identity_assertions: [idp] })).toMatchObject({
      grant_types_supported: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    });
    expect(metadataOf({ issuer })).not.toHaveProperty('authorization_grant_profiles_supported');
  });

  let server: TokenServer | undefined;
  afterEach(() => server?.close());

  it.each([
    ['without a path', '', DOCUMENTS],
    [
      'with a path',
      '/t/1',
      [...DOCUMENTS, ...DOCUMENTS.map((one) => `${one}/t/1`), ...DOCUMENTS.map((one) => `/t/1${one}`)],
    ],
    ['with a path that looks like a pattern', '/a(b)*', DOCUMENTS.map((one) => `${one}/a(b)*`)],
  ])('serves the same document at every path where clients look for an issuer %s', async (_name, path, places) => {
    server = await startTokenServer({ config: { issuer: `https://mcp.example.com${path}` } });
    for (const place of places) {
      const { status, body, headers } = await server.send('GET', place);
      expect([place, status]).toEqual([place, 200]);
      expect(body).toMatchObject({ issuer: `https://mcp.example.com${path}` });
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['cache-control']).toMatch(/max-age=\d+/);
    }
    expect((await server.send('GET', `${DOCUMENTS[0]}/other`)).status).toBe(404);
    expect((await server.post(`${path}/oauth/token`, {})).body.error).toBe('invalid_request');
  });

  it('ignores the headers of the request', async () => {
    server = await startTokenServer();
    const { request } = await import('undici');
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
    for (const place of DOCUMENTS) {
      const answer = await request(server.origin + place, { headers });
      expect(await answer.body.text()).not.toContain('evil');
    }
  });
});

describe('key set endpoint', () => {
  it('serves the public keys to every page, cached for a minute', async () => {
    const server = await startTokenServer();
    const { status, body, headers } = await server.send('GET', '/.well-known/jwks.json');
    expect(status).toBe(200);
    expect(body).toEqual(server.keys.jwks);
    expect(headers).toMatchObject({
      'content-type': 'application/jwk-set+json',
      'cache-control': 'public, max-age=60',
      'access-control-allow-origin': '*',
    });
    expect(JSON.stringify(body)).not.toContain('"d"');
    await server.close();
  });
});
