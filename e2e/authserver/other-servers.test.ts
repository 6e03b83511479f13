import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { arrange, type Arrangement } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { accountAt } from './providers.ts';
import { describeOnEachStorage } from './storages.ts';

const ITSELF = { namespace: 'e2e', name: 'gateway', uid: 'e2e' };

describeOnEachStorage(
  'the stored data of a server',
  (fixture) => {
    let setup: Arrangement;
    beforeAll(async () => {
      setup = await arrange({ config: { server: ITSELF }, storage: fixture().fresh() });
    });
    afterAll(() => setup.close());

    it.each([['namespace'], ['name'], ['uid']] as const)(
      'opens for no server with another %s, even with the same storage and secrets',
      async (part) => {
        const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
        expect(accountAt(setup.providers.okta!, await whoIs(setup.resource, token, 'okta'))).toBe('alice');
        await setup.restart({ server: { ...ITSELF, [part]: 'another' } });
        const reply = await callWhoami(setup.resource, token, 'okta');
        expect(reply.answer.result?.structuredContent).toBeUndefined();
        expect(reply.text).toContain('/connections/link?ticket=');
        await setup.restart({ server: ITSELF });
        expect(accountAt(setup.providers.okta!, await whoIs(setup.resource, token, 'okta'))).toBe('alice');
      },
    );
  },
  ['sqlite', 'redis'],
);
