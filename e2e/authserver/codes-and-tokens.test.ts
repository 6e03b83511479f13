import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { arrange, type Arrangement } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { postForm, tokensOf, type Came, type OAuthClient } from './oauth-client.ts';
import { accountAt } from './providers.ts';
import { describeOnEachStorage } from './storages.ts';

const CHAIN = [
  { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates' } },
  { name: 'github', kind: 'odd', options: { refresh: 'none' } },
] as const;

const refused = ({ status, body }: Came, error: string) =>
  expect({ status, error: body.error }).toEqual({ status: 400, error });

describeOnEachStorage('codes and refresh tokens', (fixture) => {
  let setup: Arrangement;
  let client: OAuthClient;
  let people = 0;
  const someone = () => ({ user: `user-${++people}` });

  beforeAll(async () => {
    setup = await arrange({ providers: CHAIN, storage: fixture().fresh() });
    client = await setup.client();
  });
  afterAll(() => setup.close());

  const statusOf = async (accessToken: string) => (await callWhoami(setup.resource, accessToken, 'github')).status;
  const visitsAtGithub = () => setup.providers.github?.odd?.of('/authorize').length ?? 0;

  describe('a code used twice', () => {
    it('fails and ends its tokens; the user’s tokens at providers go with the last session', async () => {
      const person = someone();
      const [first, other] = [await client.code(person), await client.code(person)];
      const [tokens, others] = [tokensOf(await client.redeem(first)), tokensOf(await client.redeem(other))];
      expect(await statusOf(tokens.access_token)).toBe(200);
      refused(await client.redeem(first), 'invalid_grant');
      refused(await client.refresh(tokens.refresh_token), 'invalid_grant');
      expect(await statusOf(tokens.access_token)).toBe(401);
      const caller = await whoIs(setup.resource, others.access_token, 'github');
      expect(accountAt(setup.providers.github!, caller)).toBe(person.user);
      const before = visitsAtGithub();
      refused(await client.redeem(other), 'invalid_grant');
      await client.login(person);
      expect(visitsAtGithub()).toBeGreaterThan(before);
    });

    it('has at most one winner of ten parallel uses', async () => {
      const done = await client.code(someone());
      const answers = await Promise.all(Array.from({ length: 10 }, () => client.redeem(done)));
      const winners = answers.filter(({ status }) => status === 200);
      expect(winners.length).toBeLessThanOrEqual(1);
      for (const answer of answers) if (answer.status !== 200) refused(answer, 'invalid_grant');
      // The winner's tokens end, too, because other parties have the code.
      for (const winner of winners) refused(await client.refresh(tokensOf(winner).refresh_token), 'invalid_grant');
    });
  });

  describe('a refresh token', () => {
    it('ends its session if it is old, and no other session of that user', async () => {
      const person = someone();
      const [tokens, others] = [await client.login(person), await client.login(person)];
      const second = tokensOf(await client.refresh(tokens.refresh_token));
      const third = tokensOf(await client.refresh(second.refresh_token));
      refused(await client.refresh(tokens.refresh_token), 'invalid_grant');
      refused(await client.refresh(third.refresh_token), 'invalid_grant');
      expect(await statusOf(third.access_token)).toBe(401);
      expect((await client.refresh(others.refresh_token)).status).toBe(200);
      expect(await statusOf(others.access_token)).toBe(200);
    });

    it('gives the same successor for twenty parallel uses, and one more', async () => {
      const { refresh_token: token } = await client.login(someone());
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.refresh(token)));
      const successors = new Set([...answers, await client.refresh(token)].map((came) => tokensOf(came).refresh_token));
      expect(successors.size).toBe(1);
      for (const successor of successors) expect((await client.refresh(successor)).status).toBe(200);
    });
  });

  it('reject another client, which does not use them up', async () => {
    const [other, done] = [await setup.client(), await client.code(someone())];
    refused(await other.redeem(done), 'invalid_grant');
    const tokens = tokensOf(await client.redeem(done));
    refused(await other.refresh(tokens.refresh_token), 'invalid_grant');
    expect((await other.revoke(tokens.refresh_token)).status).toBe(200);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    expect(await statusOf(tokens.access_token)).toBe(200);
  });

  it('stop working at once after their client revokes them', async () => {
    const person = someone();
    for (const kind of ['refresh_token', 'access_token'] as const) {
      const tokens = await client.login(person);
      expect(await statusOf(tokens.access_token)).toBe(200);
      expect((await client.revoke(tokens[kind])).status).toBe(200);
      expect(await statusOf(tokens.access_token)).toBe(401);
      refused(await client.refresh(tokens.refresh_token), 'invalid_grant');
    }
  });
});

describe('the token endpoint', () => {
  let setup: Arrangement;
  let client: OAuthClient;
  beforeAll(async () => {
    setup = await arrange();
    client = await setup.client();
  });
  afterAll(() => setup.close());

  it('refuses a wrong code_verifier, redirect URI or resource, and does not use the code up', async () => {
    const done = await client.code({ user: 'alice' });
    const wrong: [Readonly<Record<string, string>>, string][] = [
      [{ code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
      [{ code_verifier: '' }, 'invalid_request'],
      [{ code_verifier: done.challenge }, 'invalid_grant'],
      [{ redirect_uri: `${client.redirectUri}/` }, 'invalid_grant'],
      [{ resource: `${setup.resource}/` }, 'invalid_target'],
      [{ resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
      [{ code: `${done.code}x` }, 'invalid_grant'],
    ];
    for (const [change, error] of wrong) refused(await client.redeem(done, change), error);
    expect((await client.redeem(done, { resource: setup.resource })).status).toBe(200);
  });

  it('answers an unknown client with 401 invalid_client, so that the client registers again', async () => {
    const { refresh_token: token } = await client.login({ user: 'alice' });
    for (const answer of [
      await client.token({ client_id: 'forgotten', grant_type: 'refresh_token', refresh_token: token }),
    ]) {
      expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 401, error: 'invalid_client' });
    }
    expect((await client.refresh(token)).status).toBe(200);
  });

  it('also answers at the default path of MCP 2025-03-26, for clients that have not kept the metadata', async () => {
    const { refresh_token: token } = await client.login({ user: 'alice' });
    const form = { grant_type: 'refresh_token', refresh_token: token, client_id: client.id };
    expect((await postForm(`${setup.origin}/token`, form)).body.refresh_token).toMatch(/^\S+$/);
  });

  it('narrows the scope, and never widens it', async () => {
    const narrow = { parameters: { scope: 'mcp' } };
    const tokens = await client.login({ user: 'alice' }, narrow);
    expect(tokens.scope).toBe('mcp');
    refused(await client.refresh(tokens.refresh_token, { scope: 'mcp offline_access' }), 'invalid_scope');
    expect(tokensOf(await client.refresh(tokens.refresh_token, { scope: 'mcp unheard-of' })).scope).toBe('mcp');
  });

  it('refuses a foreign or repeated resource at a refresh, too', async () => {
    const { refresh_token: token } = await client.login({ user: 'alice' });
    refused(await client.refresh(token, { resource: 'https://elsewhere.example/mcp' }), 'invalid_target');
    expect((await client.refresh(token, { resource: setup.resource })).status).toBe(200);
  });
});
