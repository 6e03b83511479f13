import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Robot } from '../robot/robot.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { claimsOf, register, tokensOf, type OAuthClient } from './oauth-client.ts';
import { accountAt, type ProviderSpec } from './providers.ts';
import { describeOnEachStorage, type StorageDocument } from './storages.ts';

const CHAIN: readonly ProviderSpec[] = [
  { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } },
  { name: 'github', kind: 'odd', options: { refresh: 'none' } },
];

describeOnEachStorage(
  'a storage that an attacker reads, or that fails,',
  (fixture) => {
    let storage: StorageDocument;
    let setup: Arrangement;
    let client: OAuthClient;
    beforeAll(async () => {
      storage = fixture().fresh('2s');
      setup = await arrange({ providers: CHAIN, storage });
      client = await setup.client();
    });
    afterAll(() => setup.close());

    const at = async (provider: string, token: string) =>
      accountAt(setup.providers[provider]!, await whoIs(setup.resource, token, provider));

    it('holds no usable upstream token: none is readable, and a row moved to another user does not open', async () => {
      const [alice, bob] = [await client.login({ user: 'alice' }), await client.login({ user: 'bob' })];
      const held = (await fixture().dump()) ?? '';
      const subs = [alice, bob].map(({ access_token: token }) => String(claimsOf(token).sub)) as [string, string];
      expect(held).toContain(subs[0]);
      for (const provider of Object.values(setup.providers)) {
        for (const [token] of provider.odd!.issued()) expect(held).not.toContain(token);
      }
      expect(held).not.toContain(alice.refresh_token.split('.')[1]);
      await fixture().swapLinks(storage, subs, 'github');
      // The end of the process clears its memory of them.
      await setup.restart();
      for (const { access_token: token } of [alice, bob]) {
        const reply = await callWhoami(setup.resource, token, 'github');
        expect(reply.status).toBe(200);
        expect(reply.answer.result?.structuredContent).toBeUndefined();
        expect(reply.text).toContain('/connections/link?ticket=');
      }
      expect(await at('okta', alice.access_token)).toBe('alice');
      expect(await at('okta', bob.access_token)).toBe('bob');
      await fixture().swapLinks(storage, subs, 'github');
      await setup.restart();
      expect(await at('github', alice.access_token)).toBe('alice');
      expect(await at('github', bob.access_token)).toBe('bob');
    });

    it('makes the server answer 503 during an outage, never invalid_grant, and loses no login', async () => {
      const robot = new Robot();
      const [tokens, done] = [await client.login({ user: 'carol' }), await client.code({ user: 'dave' })];
      const consent = await robot.open(client.begin().url);
      fixture().goDown(storage);
      try {
        for (const refused of [
          await client.refresh(tokens.refresh_token),
          await client.redeem(done),
          await client.revoke(tokens.refresh_token),
          await register(setup.origin),
        ]) {
          expect({ status: refused.status, error: refused.body.error }).toEqual({
            status: 503,
            error: 'temporarily_unavailable',
          });
          expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
        }
        expect((await robot.submit(consent)).status).toBe(503);
        expect((await new Robot().open(client.begin().url)).status).toBe(503);
        if (fixture().kind === 'redis') {
          const call = await callWhoami(setup.resource, tokens.access_token, 'okta');
          expect(call.status).toBe(503);
        }
      } finally {
        fixture().comeBack();
      }
      const after = await settled(() => client.refresh(tokens.refresh_token));
      expect(await at('github', tokensOf(after).access_token)).toBe('carol');
      expect(await at('github', tokensOf(await client.redeem(done)).access_token)).toBe('dave');
    });
  },
  ['sqlite', 'redis'],
);

/** Repeats a request until its answer is not 503. */
async function settled<T extends { readonly status: number }>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask();
    if (answer.status !== 503 || tries === 50) return answer;
    await sleep(100);
  }
}
