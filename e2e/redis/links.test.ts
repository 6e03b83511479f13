import { randomBytes } from 'node:crypto';
import { afterEach, expect, it } from '@jest/globals';
import { arrange } from '../authserver/arrangement.ts';
import type { ProviderSpec } from '../authserver/providers.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { requestAt } from './replicas.ts';
import { startRedis } from './start-redis.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
const GITHUB: ProviderSpec = { name: 'github', kind: 'odd', required: false };

afterEach(closeAll);

describeWithRedis('a login that a user finishes at one replica', () => {
  it('appears on the stream at another replica, with the lists that it changes', async () => {
    const server = await startRedis();
    closing({ close: () => server.stop() });
    const redis = { addr: server.address, key_prefix: 'vmcp:team/links:' };
    const setup = closing(
      await arrange({
        providers: [OKTA, GITHUB],
        replicas: 2,
        storage: { type: 'redis', redis },
        config: { session_storage: { type: 'redis', redis }, sealing_secret_files: ['sealing'] },
        files: { sealing: randomBytes(32).toString('hex') },
      }),
    );
    const other = await setup.replica();
    const client = await setup.client();
    const { access_token: token } = await client.login({ user: 'alice', checks: { 'link=github': false } });
    const bearer = { authorization: `Bearer ${token}` };
    const session = await SessionClient.open(setup.resource, bearer, { elicitation: { url: {} } });
    const stream = await session.stream();
    const asked = await requestAt(other, session, 'tools/call', { name: 'github_whoami', arguments: {} });
    const elicitations = asked.answer.error?.data?.elicitations as { elicitationId: string }[] | undefined;
    expect(elicitations).toHaveLength(1);
    const before = stream.messages().length;
    await client.at(other.origin).login({ user: 'alice' });
    const done = await stream.waitFor(({ method }) => method === 'notifications/elicitation/complete');
    expect(done.params).toEqual({ elicitationId: elicitations?.[0]?.elicitationId });
    const later = stream.messages().slice(before);
    expect(later.map(({ method }) => method)).toContain('notifications/tools/list_changed');
    expect((await session.call('github_whoami', {})).answer.result).toBeDefined();
    stream.close();
  });
});
