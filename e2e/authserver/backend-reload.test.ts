import { afterEach, describe, expect, it } from '@jest/globals';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { accountAt, type ProviderSpec } from './providers.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates' } };

afterEach(closeAll);

describe('a reload', () => {
  it('takes a backend out of service that needs stored tokens without a server that has them', async () => {
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

  it('keeps logins and stored tokens where something else changes', async () => {
    const world = closing(await arrange({ providers: [OKTA] }));
    const { access_token: token } = await (await world.client()).login({ user: 'alice' });
    const listen = { port: Number(new URL(world.origin).port), private_port: 0 };
    const operational = { timeouts: { default: '30s' } };
    await world.gateway.reconfigure({ ...world.configOf(), operational, listen });
    expect(accountAt(world.providers.okta!, await whoIs(world.resource, token, 'okta'))).toBe('alice');
  });
});
