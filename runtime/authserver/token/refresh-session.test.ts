import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createMemoryStorage } from '../storage/memory.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { createSharedStorage } from '../testdata/shared-storage.ts';
import {
  alice,
  RESOURCE,
  SECRETS,
  START,
  startTokenServer,
  type Came,
  type TokenServer,
} from './testdata/token-server.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

const NEW_SECRET = { file: 'new', content: Buffer.from('n'.repeat(32)) };

describe('refreshSession', () => {
  let server: TokenServer;
  beforeAll(async () => {
    server = await startTokenServer();
  });
  afterAll(() => server.close());

  const refused = (answer: Came, status: number, error: string) => {
    expect(answer.body.error).toBe(error);
    expect(answer.status).toBe(status);
  };

  it('issues new tokens of the same session', async () => {
    const { clientId, tokens } = await server.login();
    server.clock.time += MINUTE;
    const { status, body } = await server.refresh(tokens.refresh_token, clientId, { resource: RESOURCE });
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'mcp offline_access' });
    expect(body.refresh_token).not.toBe(tokens.refresh_token);
    const [before, after] = [decodeJwt(tokens.access_token), decodeJwt(body.access_token)];
    expect(after).toMatchObject({ sub: alice.sub, tsid: before.tsid, client_id: clientId });
    expect(after.jti).not.toBe(before.jti);
    expect(server.events.at(-1)).toMatchObject({ type: 'auth_token_refreshed', outcome: 'success' });
  });

  it('accepts the last issued token without its MAC, and rejects any change to it', async () => {
    const { clientId, tokens } = await server.login();
    const { body } = await server.refresh(tokens.refresh_token, clientId);
    const [kid = '', secret = '', gen = '', mac = ''] = body.refresh_token.split('.');
    for (const forged of [
      [kid, secret, gen, mac.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))],
      [kid, secret, String(Number(gen) + 1), mac],
      [kid, secret, gen, mac.slice(1)],
    ])
      refused(await server.refresh(forged.join('.'), clientId), 400, 'invalid_grant');
    expect((await server.refresh(body.refresh_token, clientId)).status).toBe(200);
  });

  it('returns the same successor to all requests within 30 seconds', async () => {
    const { clientId, tokens } = await server.login();
    const answers = await Promise.all(Array.from({ length: 20 }, () => server.refresh(tokens.refresh_token, clientId)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    server.clock.time += 30_000;
    const again = await server.refresh(tokens.refresh_token, clientId);
    expect(again.body.refresh_token).toBe(answers[0]?.body.refresh_token);
  });

  it('ends the session, and no other one, when a used token is sent again', async () => {
    const [{ clientId, tokens }, other] = [await server.login(), await server.login()];
    const next = await server.refresh(tokens.refresh_token, clientId);
    server.clock.time += 30_001;
    refused(await server.refresh(tokens.refresh_token, clientId), 400, 'invalid_grant');
    refused(await server.refresh(next.body.refresh_token, clientId), 400, 'invalid_grant');
    expect(server.ended).toContain(decodeJwt(tokens.access_token).tsid);
    expect((await server.refresh(other.tokens.refresh_token, other.clientId)).status).toBe(200);
    expect(server.events).toContainEqual(
      expect.objectContaining({ type: 'auth_token_revoked', details: { reason: 'an old refresh token came back' } }),
    );
  });

  it('rejects another client and keeps the token valid', async () => {
    const { clientId, tokens } = await server.login();
    refused(await server.refresh(tokens.refresh_token, await server.client()), 400, 'invalid_grant');
    refused(await server.refresh(tokens.refresh_token, 'nobody'), 401, 'invalid_client');
    expect((await server.refresh(tokens.refresh_token, clientId)).status).toBe(200);
  });

  it('narrows the scope, never widens it, and keeps the token valid', async () => {
    const narrow = await startTokenServer({ config: { scopes_supported: ['mcp', 'read', 'write'] } });
    const clientId = await narrow.client();
    const granted = { scope: ['mcp', 'read'] };
    const { body } = await narrow.redeem(await narrow.code(clientId, granted), clientId);
    refused(await narrow.refresh(body.refresh_token, clientId, { scope: 'mcp write' }), 400, 'invalid_scope');
    const fewer = await narrow.refresh(body.refresh_token, clientId, { scope: 'mcp unheard-of openid' });
    expect(fewer.body.scope).toBe('mcp');
    expect(decodeJwt(fewer.body.access_token).scope).toBe('mcp');
    const all = await narrow.refresh(fewer.body.refresh_token, clientId);
    expect(all.body.scope).toBe('mcp read');
    await narrow.close();
  });

  it('rejects another resource and keeps the token valid', async () => {
    const { clientId, tokens } = await server.login();
    for (const resource of [`${RESOURCE}/`, 'https://other.example/mcp', RESOURCE.toUpperCase()])
      refused(await server.refresh(tokens.refresh_token, clientId, { resource }), 400, 'invalid_target');
    const twice: [string, string][] = [
      ['grant_type', 'refresh_token'],
      ['refresh_token', tokens.refresh_token],
      ['client_id', clientId],
      ['resource', RESOURCE],
      ['resource', 'https://other.example/mcp'],
    ];
    refused(await server.post('/oauth/token', twice), 400, 'invalid_target');
    expect((await server.refresh(tokens.refresh_token, clientId)).status).toBe(200);
  });

  it('rejects a forged token without a read of the storage', async () => {
    const { clientId, tokens } = await server.login();
    const [kid, secret, gen, mac] = tokens.refresh_token.split('.');
    const before = server.looks.length;
    const forged = [
      `${kid}.${secret}.${Number(gen) + 1}.${mac}`,
      `${kid}.${'A'.repeat(43)}.${gen}.${mac}`,
      `${kid}.${secret}.0${gen}.${mac}`,
      `${kid}.${secret}.-1.${mac}`,
      `${kid}.${secret}.${gen}.${server.secrets.mac(server.secrets.kid, `code|${secret}`)}`,
      `${tokens.refresh_token}=`,
      'x'.repeat(10_000),
    ];
    for (const token of forged) refused(await server.refresh(token, clientId), 400, 'invalid_grant');
    expect(server.looks).toHaveLength(before);
  });

  it('extends the session with each use, to 30 days at most', async () => {
    const sliding = await startTokenServer();
    const { clientId, tokens } = await sliding.login();
    let token = tokens.refresh_token;
    let last: Came['body'] = tokens;
    for (let day = 6; day < 30; day += 6) {
      sliding.clock.time = START + day * DAY;
      ({ body: last } = await sliding.refresh(token, clientId));
      token = last.refresh_token;
    }
    sliding.clock.time = START + 30 * DAY - 10 * MINUTE;
    ({ body: last } = await sliding.refresh(token, clientId));
    expect(last.expires_in).toBe(600);
    sliding.clock.time = START + 30 * DAY;
    expect((await sliding.refresh(last.refresh_token, clientId)).status).toBe(400);
    await sliding.close();
  });

  it('rejects a token after its lifespan without use', async () => {
    const { clientId, tokens } = await server.login();
    server.clock.time += 7 * DAY;
    refused(await server.refresh(tokens.refresh_token, clientId), 400, 'invalid_grant');
  });

  it('issues no access token that outlives the session', async () => {
    const lifespans = { access_token_lifespan: '24h', refresh_token_lifespan: '1h' };
    const short = await startTokenServer({ config: { token_lifespans: lifespans } });
    expect((await short.login()).tokens.expires_in).toBe(3600);
    await short.close();
  });

  it('fails while a required provider needs a login, and keeps the session for the access token', async () => {
    const { clientId, tokens } = await server.login();
    const link = (await server.storage.getLink(alice.sub, 'okta'))!;
    await server.storage.replaceLink(alice.sub, 'okta', link.version, { ...link, state: 'needs_login' });
    refused(await server.refresh(tokens.refresh_token, clientId), 400, 'invalid_grant');
    expect(await server.storage.getSession(String(decodeJwt(tokens.access_token).tsid))).toBeDefined();
    await server.storage.replaceLink(alice.sub, 'okta', link.version + 1, { ...link, state: 'linked' });
    expect((await server.refresh(tokens.refresh_token, clientId)).status).toBe(200);
  });

  it('fails after the user unlinked a required provider', async () => {
    const { clientId, tokens } = await server.login();
    await server.storage.unlink(alice.sub, 'okta');
    refused(await server.refresh(tokens.refresh_token, clientId), 400, 'invalid_grant');
  });

  it('ignores an optional provider that needs a login', async () => {
    const optional = await startTokenServer({ links: { okta: {}, github: { state: 'needs_login' } } });
    const { clientId, tokens } = await optional.login();
    expect((await optional.refresh(tokens.refresh_token, clientId)).status).toBe(200);
    await optional.close();
  });

  it('continues when a failover lost the last rotation', async () => {
    const { clientId, tokens } = await server.login();
    const [kid = '', secret] = tokens.refresh_token.split('.');
    const ahead = `${kid}.${secret}.5.${server.secrets.mac(kid, `rt|${secret}|5`)}`;
    const { status, body } = await server.refresh(ahead, clientId);
    expect(status).toBe(200);
    expect(body.refresh_token.split('.')[2]).toBe('6');
  });

  it('extends the lifespan of the client', async () => {
    const kept = await startTokenServer();
    const { clientId, tokens } = await kept.login();
    kept.clock.time += 6 * DAY;
    const { body } = await kept.refresh(tokens.refresh_token, clientId);
    expect(kept.looks).toContain('touch');
    kept.clock.time = START + 12 * DAY;
    await kept.refresh(body.refresh_token, clientId);
    kept.clock.time = START + 31 * DAY;
    refused(await kept.refresh('x.y.z', clientId), 400, 'invalid_grant');
    refused(await kept.refresh(body.refresh_token, clientId), 400, 'invalid_grant');
    await kept.close();
  });

  it('answers 503 while the storage is down', async () => {
    const { clientId, tokens } = await server.login();
    const down = new Proxy(server.storage, { get: () => () => Promise.reject(new StorageUnavailable('down')) });
    const broken = await startTokenServer({ storage: down });
    refused(await broken.refresh(tokens.refresh_token, clientId), 503, 'temporarily_unavailable');
    await broken.close();
    expect((await server.refresh(tokens.refresh_token, clientId)).status).toBe(200);
  });
});

describe('secrets of refresh tokens', () => {
  const refused = ({ status, body }: Came, expected: number, error: string) => {
    expect(body.error).toBe(error);
    expect(status).toBe(expected);
  };

  it('rotate at run time from [new, old] to [new], with all logins kept', async () => {
    const server = await startTokenServer();
    const { clientId, tokens } = await server.login();
    server.secrets.update([NEW_SECRET, ...SECRETS]);
    server.clock.time += 120_000;
    const { body } = await server.refresh(tokens.refresh_token, clientId);
    expect(body.refresh_token.split('.')[0]).toBe(server.secrets.kid);
    expect(body.refresh_token.split('.')[0]).not.toBe(tokens.refresh_token.split('.')[0]);
    expect(Object.keys(await server.storage.secretsInUse())).toContain(server.secrets.kid);
    server.secrets.update([NEW_SECRET]);
    expect((await server.refresh(body.refresh_token, clientId)).status).toBe(200);
    await server.close();
  });

  it('become invalid on removal, even for the token issued last', async () => {
    const server = await startTokenServer();
    const { clientId, tokens } = await server.login();
    const { body } = await server.refresh(tokens.refresh_token, clientId);
    server.secrets.update([NEW_SECRET]);
    server.clock.time += 120_000;
    refused(await server.refresh(body.refresh_token, clientId), 400, 'invalid_grant');
    await server.close();
  });

  it('cause 503 for 120 seconds when another replica knows them first', async () => {
    const clock = { time: START };
    const storage = createSharedStorage(() => clock.time);
    const ahead = await startTokenServer({ storage, clock, secretFiles: [NEW_SECRET] });
    const { clientId, tokens } = await ahead.login();
    const behind = await startTokenServer({ storage, clock });
    clock.time += 119_999;
    refused(await behind.refresh(tokens.refresh_token, clientId), 503, 'temporarily_unavailable');
    clock.time += 1;
    refused(await behind.refresh(tokens.refresh_token, clientId), 400, 'invalid_grant');
    refused(await behind.refresh(tokens.refresh_token, 'forgotten'), 401, 'invalid_client');
    behind.secrets.update([...SECRETS, NEW_SECRET]);
    expect((await behind.refresh(tokens.refresh_token, clientId)).status).toBe(200);
    await ahead.close();
    await behind.close();
  });

  it('fail at once when they are unknown and no other replica exists', async () => {
    const clock = { time: START };
    const storage = createMemoryStorage({ now: () => clock.time });
    const before = await startTokenServer({ storage, clock, secretFiles: [NEW_SECRET] });
    const { clientId, tokens } = await before.login();
    const code = await before.code(clientId);
    await before.close();
    const after = await startTokenServer({ storage, clock });
    refused(await after.refresh(tokens.refresh_token, clientId), 400, 'invalid_grant');
    refused(await after.refresh(tokens.refresh_token, 'forgotten'), 401, 'invalid_client');
    refused(await after.redeem(code, clientId), 400, 'invalid_grant');
    await after.close();
  });

  it('fail at once when they were lost with a process', async () => {
    const clock = { time: START };
    const storage = createMemoryStorage({ now: () => clock.time });
    const before = await startTokenServer({ storage, clock, secretFiles: [] });
    const { clientId, tokens } = await before.login();
    await before.close();
    const after = await startTokenServer({ storage, clock, secretFiles: [] });
    refused(await after.refresh(tokens.refresh_token, clientId), 400, 'invalid_grant');
    refused(await after.refresh(tokens.refresh_token, 'forgotten'), 401, 'invalid_client');
    await after.close();
  });
});
