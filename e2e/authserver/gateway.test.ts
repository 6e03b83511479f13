import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { request } from 'undici';
import { auditLinesIn } from '../gateway/audit-lines.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { arrange, keyFile, type Arrangement, type ArrangementOptions } from './arrangement.ts';
import { callWhoami } from './call-tool.ts';

describe('the gateway with its authorization server', () => {
  let setup: Arrangement;
  afterEach(() => setup.close());

  const start = async (options?: ArrangementOptions) => (setup = await arrange(options));
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await request(setup.origin + path, { headers });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  const metadata = async () => {
    const { text } = await get('/.well-known/oauth-authorization-server');
    return JSON.parse(text) as { issuer?: string; scopes_supported?: string[] };
  };
  const status = async () => {
    const { privatePort } = setup.gateway.runtime.address;
    const answer = await request(`http://127.0.0.1:${privatePort}/status`);
    return RuntimeStatus.parse(await answer.body.json());
  };
  const reconfigure = (changes: Partial<GatewayConfig>) =>
    setup.gateway.reconfigure({
      ...setup.configOf(changes),
      listen: { port: Number(new URL(setup.origin).port), private_port: 0 },
    });
  const withServer = (changes: object) => ({
    embedded_auth_server_config: { ...setup.configOf().embedded_auth_server_config!, ...changes },
  });

  /** Waits for a text in the log, because audit lines appear a moment later. */
  const logged = async (text: string) => {
    const until = Date.now() + 5_000;
    while (!setup.gateway.log().includes(text) && Date.now() < until) await sleep(10);
    expect(setup.gateway.log()).toContain(text);
  };

  it('applies a changed authorization server with all other changes, or not at all', async () => {
    await start();
    const client = await setup.client();
    const tokens = await client.login({ user: 'alice' });
    await reconfigure(withServer({ scopes_supported: ['mcp', 'more'] }));
    expect((await metadata()).scopes_supported).toEqual(['mcp', 'more']);
    // The audit file cannot be opened: the former audit log stays, and all other changes apply.
    const audit_config: GatewayConfig['audit_config'] = { enabled: true, logFile: '/no/such/folder/audit.log' };
    await reconfigure({ ...withServer({ scopes_supported: ['other'] }), audit_config });
    expect((await status()).config_refused).toBeNull();
    expect((await metadata()).scopes_supported).toEqual(['other']);
    // One key cannot be read: neither the new scopes nor the new backends apply.
    const key = { signing_key_config: { signing_key_file: '/no/such/key' }, scopes_supported: ['third'] };
    await reconfigure({ ...withServer(key), backends: [] });
    expect((await status()).config_refused?.message).toContain('/no/such/key');
    expect((await metadata()).scopes_supported).toEqual(['other']);
    expect((await callWhoami(setup.resource, tokens.access_token, 'okta')).status).toBe(200);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
  });

  it('gets an authorization server at run time, and removes it again', async () => {
    await start();
    const jwks = { keys: [{ ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }) }] };
    const without: Partial<GatewayConfig> = {
      incoming: { type: 'oidc', issuer: 'https://idp.example', audience: setup.resource, jwks },
      embedded_auth_server_config: undefined,
      backends: [],
    };
    await reconfigure(without);
    expect((await get('/.well-known/oauth-authorization-server')).status).toBe(404);
    expect((await get('/oauth/authorize')).status).toBe(404);
    expect((await status()).auth_server).toBeNull();
    await reconfigure({});
    expect((await metadata()).issuer).toBe(setup.origin);
    const { access_token } = await (await setup.client()).login({ user: 'alice' });
    expect((await callWhoami(setup.resource, access_token, 'okta')).status).toBe(200);
  });

  it('keeps the former keys if a file no longer holds one', async () => {
    await start();
    const client = await setup.client();
    const tokens = await client.login({ user: 'alice' });
    await writeFile(keyFile(setup.folder, 1), 'no key at all');
    await reconfigure({});
    await setup.gateway.runtime.gateway.filesChanged([]);
    expect((await callWhoami(setup.resource, tokens.access_token, 'okta')).status).toBe(200);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    expect(setup.gateway.log()).toContain('there is no private key in it');
    expect(setup.gateway.log()).not.toContain('no key at all');
  });

  it('answers a foreign Host with 403, at every path of the authorization server', async () => {
    await start();
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/oauth/authorize',
      '/oauth/callback/okta',
      '/connections',
    ])
      expect((await get(path, { host: 'evil.example' })).status).toBe(403);
    expect((await get('/.well-known/jwks.json')).status).toBe(200);
  });

  it('shows in its status the active parts, the losses on a restart, and the redirect URIs for providers', async () => {
    await start({ keys: 'ephemeral' });
    await (await setup.client()).login({ user: 'alice' });
    const { auth_server, warnings } = await status();
    const [secret = ''] = auth_server?.secrets.kids ?? [];
    expect(auth_server).toMatchObject({
      storage: 'memory',
      signing_keys: { ephemeral: true },
      secrets: { kids: [secret], making: secret, ephemeral: true },
      secrets_in_use: { [secret]: 2 },
      sizes: { clients: 1, logins: 0, sessions: 1, links: 1 },
      redirect_uris: { okta: `${setup.origin}/oauth/callback/okta` },
    });
    expect(warnings.filter((warning) => warning.includes('restart'))).toHaveLength(2);
    expect(setup.gateway.log()).toContain('after a restart everybody has to log in again');
  });

  it('writes an audit line for each event of tokens', async () => {
    await start();
    const client = await setup.client();
    const tokens = await client.login({ user: 'alice' });
    await client.refresh(tokens.refresh_token);
    await client.revoke(tokens.refresh_token);
    for (const type of ['auth_token_issued', 'auth_token_refreshed', 'auth_token_revoked'])
      await logged(`"type":"${type}"`);
    expect(auditLinesIn(setup.gateway.log()).map(({ type }) => type)).toEqual(
      expect.arrayContaining(['auth_client_registered', 'auth_login_started', 'auth_login_completed', 'auth_consent']),
    );
    for (const secret of [tokens.access_token, ...tokens.refresh_token.split('.').slice(1, 2)])
      expect(setup.gateway.log()).not.toContain(secret);
  });
});
