import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { arrange, type Arrangement } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { accountAt } from './providers.ts';
import { describeOnEachStorage } from './storages.ts';

const ITSELF = { namespace: 'e2e', name: 'gateway', uid: 'e2e' };

describeOnEachStorage(
  'the stored data of a server',
  (place) => {
    let world: Arrangement;
    beforeAll(async () => {
      world = await arrange({ config: { server: ITSELF }, storage: place().fresh() });
    });
    afterAll(() => world.close());

    it.each([['namespace'], ['name'], ['uid']] as const)(
      'opens for no server with another %s, even with the same storage and secrets',
      async (part) => {
        const { access_token: token } = await (await world.client()).login({ user: 'alice' });
        expect(accountAt(world.providers.okta!, await whoIs(world.resource, token, 'okta'))).toBe('alice');
        await world.restart({ server: { ...ITSELF, [part]: 'another' } });
        const reply = await callWhoami(world.resource, token, 'okta');
        expect(reply.answer.result?.structuredContent).toBeUndefined();
        expect(reply.text).toContain('/connections/link?ticket=');
        await world.restart({ server: ITSELF });
        expect(accountAt(world.providers.okta!, await whoIs(world.resource, token, 'okta'))).toBe('alice');
      },
    );
  },
  ['sqlite', 'redis'],
);
