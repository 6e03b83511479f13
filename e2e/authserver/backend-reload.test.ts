import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { accountAt, type ProviderSpec } from './providers.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates' } };

afterEach(closeAll);

describe('a reload', () => {
  it('takes a backend that needs stored tokens out of service if their server is gone', async () => {
    const setup = closing(await arrange({ providers: [OKTA] }));
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    const without = setup.configOf();
    delete without.embedded_auth_server_config;
    const listen = { port: Number(new URL(setup.origin).port), private_port: 0 };
    await setup.gateway.reconfigure({ ...without, incoming: { type: 'anonymous' }, listen });
    expect(setup.gateway.log()).toMatch(/provider okta, and there is no embedded authorization server/);
    const { answer } = await callWhoami(setup.resource, token, 'okta');
    expect(answer.error).toMatchObject({ data: { backend: 'okta', reason: 'unavailable' } });
  });

  it('keeps logins and stored tokens if it changes another part', async () => {
    const setup = closing(await arrange({ providers: [OKTA] }));
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    const listen = { port: Number(new URL(setup.origin).port), private_port: 0 };
    const operational = { timeouts: { default: '30s' } };
    await setup.gateway.reconfigure({ ...setup.configOf(), operational, listen });
    expect(accountAt(setup.providers.okta!, await whoIs(setup.resource, token, 'okta'))).toBe('alice');
  });
});

const GITHUB: ProviderSpec = { name: 'github', kind: 'odd', options: { refresh: 'none' } };

describe('a provider that the document has out of service', () => {
  /** Restarts the gateway with this provider out of service. */
  const startWithout = async (name: string, more: object = {}) => {
    const setup = closing(await arrange({ providers: [OKTA, GITHUB], storage: 'sqlite' }));
    const alice = await (await setup.client()).login({ user: 'alice' });
    const server = setup.configOf().embedded_auth_server_config!;
    const upstreams = server.upstreams.map((one) =>
      one.name === name ? { ...one, ...more, out_of_service: 'its Secret does not exist' } : one,
    );
    await setup.restart({ embedded_auth_server_config: { ...server, upstreams } });
    const { back } = await (await setup.client()).authorize({ user: 'bob' });
    return { setup, alice, back: back.searchParams };
  };

  it.each(['okta', 'github'])('fails logins that need it, and serves users who have logged in: %s', async (name) => {
    const { setup, alice, back } = await startWithout(name);
    expect(back.get('code')).toBeNull();
    expect(back.get('error')).toBe('temporarily_unavailable');
    const other = name === 'okta' ? 'github' : 'okta';
    expect(accountAt(setup.providers[other]!, await whoIs(setup.resource, alice.access_token, other))).toBe('alice');
  });

  it.each([OKTA, GITHUB])('keeps the secret of its former settings, whose file is gone: $name', async (spec) => {
    const setup = closing(await arrange({ providers: [spec] }));
    const server = setup.configOf().embedded_auth_server_config!;
    const upstreams = server.upstreams.map((one) => ({
      ...withoutFiles(one),
      out_of_service: 'its Secret is missing',
    }));
    const listen = { port: Number(new URL(setup.origin).port), private_port: 0 };
    const embedded_auth_server_config = { ...server, upstreams };
    await setup.gateway.reconfigure({ ...setup.configOf({ embedded_auth_server_config }), listen });
    expect(setup.gateway.log()).toContain('keeps its former settings');
    await rm(join(setup.folder, `secret-of-${spec.name}`));
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    expect(accountAt(setup.providers[spec.name]!, await whoIs(setup.resource, token, spec.name))).toBe('alice');
  });

  it('lets a login skip it if it is optional', async () => {
    const { back } = await startWithout('github', { required: false });
    expect(back.get('error')).toBeNull();
    expect(back.get('code')).not.toBeNull();
  });
});

/** Removes the names of files, as the planner does for a provider whose Secret is missing. */
const withoutFiles = <T>(settings: T): T =>
  JSON.parse(JSON.stringify(settings, (key, value: unknown) => (key.endsWith('_file') ? undefined : value))) as T;
