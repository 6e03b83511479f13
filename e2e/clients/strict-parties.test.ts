import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as oidc from 'openid-client';
import { arrange, type Arrangement } from '../authserver/arrangement.ts';
import { whoIs } from '../authserver/call-tool.ts';
import { accountAt } from '../authserver/providers.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { Robot } from '../robot/robot.ts';

const REDIRECT = 'http://127.0.0.1:1/callback';
const PERSON = { user: 'alice' };
const METADATA = { client_name: 'Strict', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };

let setup: Arrangement;
beforeAll(async () => {
  const authServer = { introspection_clients: [{ client_id: 'asker', client_secret_file: 'introspection' }] };
  setup = await arrange({ authServer, files: { introspection: 'secret-of-the-introspection-client' } });
});
afterAll(() => setup.close());

const accountOf = async (token: string) => accountAt(setup.providers.okta!, await whoIs(setup.resource, token, 'okta'));

describe('openid-client', () => {
  it.each(['oauth2', 'oidc'] as const)('discovers, registers, logs in, refreshes, revokes (%s)', async (algorithm) => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const execute = [oidc.allowInsecureRequests];
    const registered = await oidc.dynamicClientRegistration(new URL(setup.origin), METADATA, oidc.None(), {
      algorithm,
      execute,
    });
    const { client_id: id } = registered.clientMetadata();
    const config = await oidc.discovery(new URL(setup.origin), id, METADATA, oidc.None(), { algorithm, execute });
    const [verifier, state] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT,
      scope: 'mcp offline_access',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource: setup.resource,
      state,
    });
    const back = await new Robot().login(url, PERSON);
    const checks = { pkceCodeVerifier: verifier, expectedState: state };
    const tokens = await oidc.authorizationCodeGrant(config, back, checks, { resource: setup.resource });
    expect(await accountOf(tokens.access_token)).toBe('alice');
    const next = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '', { resource: setup.resource });
    expect(await accountOf(next.access_token)).toBe('alice');
    await oidc.tokenRevocation(config, next.refresh_token ?? '');
    await expect(oidc.refreshTokenGrant(config, next.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });
});

describe('oauth4webapi', () => {
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const options = { [oauth.allowInsecureRequests]: true };

  it('accepts metadata, responses, RFC 9068 access tokens, introspection and resource metadata', async () => {
    const issuer = new URL(setup.origin);
    const found = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const resource = await oauth.resourceDiscoveryRequest(new URL(setup.resource), options);
    const described = await oauth.processResourceDiscoveryResponse(new URL(setup.resource), resource);
    expect(described.authorization_servers).toEqual([setup.origin]);
    const registration = await oauth.dynamicClientRegistrationRequest(server, METADATA, options);
    const client = await oauth.processDynamicClientRegistrationResponse(registration);
    const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
    const url = new URL(server.authorization_endpoint ?? '');
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: REDIRECT,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
    }).toString();
    const back = await new Robot().login(url, PERSON);
    const callback = oauth.validateAuthResponse(server, client, back, state);
    const none = oauth.None();
    const asked = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      none,
      callback,
      REDIRECT,
      verifier,
      options,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, asked);
    expect(await accountOf(tokens.access_token)).toBe('alice');
    const request = new Request(setup.resource, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    const claims = await oauth.validateJwtAccessToken(server, request, setup.resource, {
      ...options,
      signingAlgorithms: ['ES256'],
    });
    expect(claims).toMatchObject({ iss: setup.origin, aud: setup.resource, client_id: client.client_id });
    const asker = { client_id: 'asker' };
    const secret = oauth.ClientSecretBasic('secret-of-the-introspection-client');
    const told = await oauth.introspectionRequest(server, asker, secret, tokens.access_token, options);
    expect(await oauth.processIntrospectionResponse(server, asker, told)).toMatchObject({
      active: true,
      sub: claims.sub,
    });
    const renewed = await oauth.refreshTokenGrantRequest(server, client, none, tokens.refresh_token ?? '', options);
    const next = await oauth.processRefreshTokenResponse(server, client, renewed);
    const revoked = await oauth.revocationRequest(server, client, none, next.access_token, options);
    await oauth.processRevocationResponse(revoked);
    const gone = await oauth.introspectionRequest(server, asker, secret, next.access_token, options);
    expect(await oauth.processIntrospectionResponse(server, asker, gone)).toEqual({ active: false });
  });
});

describe('the official conformance suite', () => {
  it('passes all its scenarios for authorization servers', async () => {
    const port = await findFreePort();
    const client = await setup.client({ redirect_uris: [`http://127.0.0.1:${port}/callback`] });
    const program = join(import.meta.dirname, '..', '..', 'node_modules', '.bin', 'conformance');
    const about = ['--url', setup.origin, '--client-id', client.id, '--resource', setup.resource, '--port', `${port}`];
    const child = spawn(process.execPath, [program, 'authorization', ...about], { timeout: 25_000 });
    const ended = new Promise((resolve) => child.once('close', resolve));
    const lines: string[] = [];
    let login: Promise<unknown> = Promise.resolve();
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      // The suite prints the URL before its callback server listens.
      const walk = () => new Robot().walk(line.trim(), PERSON);
      if (line.includes('/oauth/authorize?')) login = sleep(500).then(walk);
      login.catch(() => child.kill());
    }
    await login;
    const verdicts = lines.filter((line) => /^[✓✗] /.test(line));
    expect({ code: await ended, verdicts }).toEqual({
      code: 0,
      verdicts: [
        expect.stringMatching(/^✓ authorization-server-metadata-endpoint: \d+ passed, 0 failed/),
        expect.stringMatching(/^✓ authorization-code-grant: \d+ passed, 0 failed/),
      ],
    });
  });
});
