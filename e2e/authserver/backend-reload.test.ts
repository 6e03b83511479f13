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
    const world = closing(await arrange({ providers: [OKTA] }));
    const { access_token: token } = await (await world.client()).login({ user: 'alice' });
    const without = world.configOf();
    delete without.embedded_auth_server_config;
    const listen = { port: Number(new URL(world.origin).port), private_port: 0 };
    await world.gateway.reconfigure({ ...without, incoming: { type: 'anonymous' }, listen });
    expect(world.gateway.log()).toMatch(/provider okta, and there is no embedded authorization server/);
    const { answer } = await callWhoami(world.resource, token, 'okta');
    expect(answer.error).toMatchObject({ data: { backend: 'okta', reason: 'unavailable' } });
  });

  it('keeps logins and stored tokens if it changes another part', async () => {
    const world = closing(await arrange({ providers: [OKTA] }));
    const { access_token: token } = await (await world.client()).login({ user: 'alice' });
    const listen = { port: Number(new URL(world.origin).port), private_port: 0 };
    const operational = { timeouts: { default: '30s' } };
    await world.gateway.reconfigure({ ...world.configOf(), operational, listen });
    expect(accountAt(world.providers.okta!, await whoIs(world.resource, token, 'okta'))).toBe('alice');
  });
});

const GITHUB: ProviderSpec = { name: 'github', kind: 'odd', options: { refresh: 'none' } };

describe('a provider that the document has out of service', () => {
  /** Restarts the gateway with this provider out of service. */
  const startWithout = async (name: string, more: object = {}) => {
    const world = closing(await arrange({ providers: [OKTA, GITHUB], storage: 'sqlite' }));
    const alice = await (await world.client()).login({ user: 'alice' });
    const server = world.configOf().embedded_auth_server_config!;
    const upstreams = server.upstreams.map((one) =>
      one.name === name ? { ...one, ...more, out_of_service: 'its Secret does not exist' } : one,
    );
    await world.restart({ embedded_auth_server_config: { ...server, upstreams } });
    const { back } = await (await world.client()).authorize({ user: 'bob' });
    return { world, alice, back: back.searchParams };
  };

  it.each(['okta', 'github'])('fails logins that need it, and serves users who have logged in: %s', async (name) => {
    const { world, alice, back } = await startWithout(name);
    expect(back.get('code')).toBeNull();
    expect(back.get('error')).toBe('temporarily_unavailable');
    const other = name === 'okta' ? 'github' : 'okta';
    expect(accountAt(world.providers[other]!, await whoIs(world.resource, alice.access_token, other))).toBe('alice');
  });

  it.each([OKTA, GITHUB])('keeps the secret of its former settings, whose file is gone: $name', async (spec) => {
    const world = closing(await arrange({ providers: [spec] }));
    const server = world.configOf().embedded_auth_server_config!;
    const upstreams = server.upstreams.map((one) => ({
      ...withoutFiles(one),
      out_of_service: 'its Secret is missing',
    }));
    const listen = { port: Number(new URL(world.origin).port), private_port: 0 };
    const embedded_auth_server_config = { ...server, upstreams };
    await world.gateway.reconfigure({ ...world.configOf({ embedded_auth_server_config }), listen });
    expect(world.gateway.log()).toContain('keeps its former settings');
    await rm(join(world.folder, `secret-of-${spec.name}`));
    const { access_token: token } = await (await world.client()).login({ user: 'alice' });
    expect(accountAt(world.providers[spec.name]!, await whoIs(world.resource, token, spec.name))).toBe('alice');
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
