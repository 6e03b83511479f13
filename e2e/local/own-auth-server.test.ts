import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OAuthClient, tokensOf, type Tokens } from '../authserver/oauth-client.ts';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { GATEWAY_CLIENT } from '../fakes/identity-provider/users.ts';
import { serveWhoami } from '../fakes/whoami/serve.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool } from './call-tool.ts';
import { secret } from './manifests.ts';
import { eventually, makeWorkplace, type Workplace } from './run-vmcp.ts';

const API = 'apiVersion: vmcp.dev/v1alpha1';
const UP = ['up', 'manifests', '--detach'];

let place: Workplace;
let company: IdentityProvider;
let remote: Awaited<ReturnType<typeof serveWhoami>>;
let origin: string;
let client: OAuthClient;
let tokens: Tokens;

const manifests = (strategy: string) => `${API}
kind: MCPServer
metadata: {name: inside}
spec:
  remoteUrl: ${remote.url}
  oidcConfig: {type: inline, resourceUrl: '${origin}/mcp', inline: {issuer: '${origin}'}}
  externalAuthConfigRef: {name: login}
---
${API}
kind: MCPExternalAuthConfig
metadata: {name: login}
spec:
  type: embeddedAuthServer
  embeddedAuthServer:
    issuer: ${origin}
    ${strategy}
    upstreamProviders:
      - name: company
        type: oidc
        oidcConfig:
          issuerUrl: ${company.issuer}
          clientId: ${GATEWAY_CLIENT.id}
          clientSecretRef: {name: company, key: value}
          scopes: [openid, profile, email, offline_access]
`;

beforeAll(async () => {
  place = makeWorkplace();
  origin = `http://127.0.0.1:${await findFreePort()}`;
  company = await serveIdentityProvider({ redirectUris: [`${origin}/oauth/callback/company`] });
  remote = await serveWhoami();
  place.manifest('secret.yaml', secret('company', GATEWAY_CLIENT.secret));
  place.manifest('inside.yaml', manifests('headerStrategy: replace'));
  const { code, stderr } = await place.run(UP);
  expect([code, stderr]).toEqual([0, '']);
  client = await OAuthClient.register(origin);
  tokens = await client.login({ user: 'alice' });
});
afterAll(async () => {
  await place.close();
  await Promise.all([company.close(), remote.close()]);
});

describe('the authorization server of a single MCPServer', () => {
  it('prints the redirect URI for its provider', async () => {
    expect((await place.status()).redirectUris).toEqual({ company: `${origin}/oauth/callback/company` });
  });

  it('logs in at its one provider, and swaps the token itself', async () => {
    const caller = await callTool(`${origin}/mcp`, 'whoami', tokens.access_token);
    expect(caller).toMatchObject({ subject: 'alice', issuer: company.issuer });
  });

  it('keeps logins over a restart', async () => {
    await place.run(['down']);
    expect((await place.run(UP)).code).toBe(0);
    tokens = tokensOf(await client.refresh(tokens.refresh_token));
    expect(await callTool(`${origin}/mcp`, 'whoami', tokens.access_token)).toMatchObject({ subject: 'alice' });
  });

  it('puts the token into a custom header if that is configured', async () => {
    place.manifest('inside.yaml', manifests('headerStrategy: custom\n    customHeaderName: X-Company-Token'));
    const caller = await eventually(
      () => callTool(`${origin}/mcp`, 'whoami', tokens.access_token),
      ({ tokenHash }) => tokenHash === null,
    );
    expect(caller.headerNames).toContain('x-company-token');
  });

  it('purges its logins with force while it runs, and all of them when it is gone', async () => {
    const purge = (...more: string[]) => place.run(['purge', 'MCPServer/inside', '--yes', '-o', 'json', ...more]);
    expect((await purge()).code).toBe(7);
    const shown = JSON.parse((await purge('--dry-run')).stdout) as { what: string; count: number }[];
    expect(shown).toContainEqual({ where: expect.any(String), what: 'session', count: 1 });
    expect((await purge('--force')).code).toBe(0);
    await expect(client.refresh(tokens.refresh_token)).resolves.toMatchObject({ status: 401 });
    client = await OAuthClient.register(origin);
    tokens = await client.login({ user: 'alice' });
    const { headerNames } = await callTool(`${origin}/mcp`, 'whoami', tokens.access_token);
    expect(headerNames).toContain('x-company-token');
    await place.run(['down']);
    place.manifest('inside.yaml', undefined);
    expect((await purge()).code).toBe(0);
    expect((await purge()).code).toBe(6);
  });
});
