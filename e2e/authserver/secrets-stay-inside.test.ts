import { readFile } from 'node:fs/promises';
import { expect, it, jest } from '@jest/globals';
import { send, sendModern } from '../gateway/session-client.ts';
import type { Page } from '../robot/page.ts';
import { isRedirectOf, Robot } from '../robot/robot.ts';
import { arrange, keyFile, secretFile, type Arrangement } from './arrangement.ts';
import { callWhoami } from './call-tool.ts';
import { findSecrets } from './find-secrets.ts';
import { postForm, tokensOf, type Came, type OAuthClient } from './oauth-client.ts';
import type { ProviderSpec } from './providers.ts';
import { describeOnEachStorage, type StorageFixture } from './storages.ts';
import { setWallClock, type WallClock } from './wall-clock.ts';

const CHAIN: readonly ProviderSpec[] = [
  { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 2 } },
  { name: 'github', kind: 'odd', required: false, options: { refresh: 'none' } },
  { name: 'slack', kind: 'odd', options: { answers: 'nested', refresh: 'rotates' } },
];
const STATUS_TOKEN = 'status-token-of-the-operator';
const INTROSPECTION_SECRET = 'secret-of-the-introspection-client';

/** The secrets of a run by name, and its outputs. */
class Run {
  readonly secrets = new Map<string, string>();
  readonly answers: string[] = [];

  use(name: string, secret: string | null | undefined): void {
    if (secret !== null && secret !== undefined && secret !== '') this.secrets.set(secret, name);
  }

  /** Records all parts of a refusal that a client or a browser reads. */
  refused({ status, headers, text }: Pick<Came, 'status' | 'text'> & { readonly headers: unknown }): void {
    expect(status).toBeGreaterThanOrEqual(400);
    const all = headers instanceof Headers ? [...headers] : headers;
    this.answers.push(`${status} ${JSON.stringify(all)} ${text}`);
  }

  tokens(came: Came): ReturnType<typeof tokensOf> {
    const tokens = tokensOf(came);
    this.use('access token', tokens.access_token);
    this.use('signature of an access token', tokens.access_token.split('.')[2]);
    this.use('refresh token', tokens.refresh_token);
    this.use('secret part of a refresh token', tokens.refresh_token.split('.')[1]);
    this.use('MAC of a refresh token', tokens.refresh_token.split('.')[3]);
    return tokens;
  }

  /** Records hidden fields of pages, states of login steps and codes in URLs. */
  page(page: Page): void {
    const hidden = page.forms.flatMap(({ fields }) => fields.filter(({ type }) => type === 'hidden'));
    for (const { name, value } of hidden) if (value.length >= 16) this.use(`hidden field ${name}`, value);
    for (const url of [...page.visited, ...(page.next ? [page.next] : [])]) {
      for (const name of ['code', 'ticket']) this.use(`${name} in a URL`, url.searchParams.get(name));
      if (url.pathname.includes('/callback/') || url.pathname === '/authorize')
        this.use('state of a login step', url.searchParams.get('state'));
    }
  }
}

async function login(run: Run, client: OAuthClient, robot: Robot, checks: Record<string, boolean> = {}) {
  const begun = client.begin();
  const at = (page: Page) => {
    run.page(page);
    return false;
  };
  const end = await robot.walk(begun.url, { user: 'alice', checks }, { at, before: isRedirectOf(begun.url) });
  run.page(end);
  run.use('PKCE verifier', begun.verifier);
  for (const value of Object.values(robot.cookies.at(client.origin)))
    for (const part of value.split('.')) if (part.length === 43) run.use('cookie', part);
  return { ...begun, code: end.next?.searchParams.get('code') ?? '' };
}

/** Runs the actions of clients and attackers. */
async function doEverything(run: Run, setup: Arrangement, clock: WallClock): Promise<void> {
  const [client, other, robot] = [await setup.client(), await setup.client(), new Robot()];
  const done = await login(run, client, robot, { 'link=github': false });
  run.refused(await client.redeem(done, { code_verifier: `${done.verifier}x` }));
  run.refused(await other.redeem(done));
  run.refused(await client.redeem(done, { resource: `https://elsewhere.example/?${done.code}` }));
  const first = run.tokens(await client.redeem(done));
  const call = (token: string, backend: string) => callWhoami(setup.resource, token, backend);
  for (const backend of ['okta', 'slack']) expect((await call(first.access_token, backend)).status).toBe(200);
  await linkGithub(run, setup, robot, first.access_token);
  clock.forward(2_000);
  expect((await call(first.access_token, 'okta')).status).toBe(200);
  const second = run.tokens(await client.refresh(first.refresh_token));
  const third = run.tokens(await client.refresh(second.refresh_token));
  await introspect(run, setup, third.access_token);
  run.refused(await client.refresh(`${third.refresh_token}x`));
  run.refused(await other.refresh(third.refresh_token));
  run.refused(await client.refresh(first.refresh_token));
  run.refused(await call(third.access_token, 'okta'));
  const again = await login(run, client, robot);
  const revoked = run.tokens(await client.redeem(again));
  await failAtProviders(run, setup, client);
  run.refused(await client.redeem(again));
  expect((await client.revoke(revoked.refresh_token)).status).toBe(200);
  run.refused(await client.refresh(revoked.refresh_token));
  await sendToWrongPlaces(run, setup, { ...third, code: again.code });
}

async function linkGithub(run: Run, { resource }: Arrangement, robot: Robot, token: string): Promise<void> {
  const { text } = await callWhoami(resource, token, 'github');
  const link = /http[^\s"\\]+ticket=[\w-]+/.exec(text)?.[0] ?? '';
  const page = await robot.open(link);
  run.page(page);
  const end = await robot.walk(page, { user: 'alice' }, { at: ({ url }) => url.pathname === '/connections' });
  run.page(end);
  run.refused(await new Robot().open(link));
  run.refused(await new Robot().submit(page));
}

async function introspect(run: Run, { origin }: Arrangement, token: string): Promise<void> {
  const client = { client_id: 'asker', client_secret: INTROSPECTION_SECRET };
  const { body } = await postForm(`${origin}/oauth/introspect`, { ...client, token });
  expect(body.active).toBe(true);
  run.refused(await postForm(`${origin}/oauth/introspect`, { ...client, client_secret: 'wrong', token }));
}

async function failAtProviders(run: Run, setup: Arrangement, client: OAuthClient): Promise<void> {
  const okta = setup.providers.okta!.odd!;
  for (const fault of ['fail', 'html', 'unknown-client'] as const) {
    okta.setFault('token', fault);
    const { back } = await client.authorize({ user: 'alice' });
    run.answers.push(back.href);
  }
  okta.setFault('token', undefined);
  for (const fault of ['nonce', 'signature'] as const) {
    okta.setIdTokenFault(fault);
    const { back } = await client.authorize({ user: 'alice' });
    run.answers.push(back.href);
  }
  okta.setIdTokenFault(undefined);
}

interface Used {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly code: string;
}

/** Sends secrets to wrong places: clients do so by mistake, attackers to see them in the answer. */
async function sendToWrongPlaces(run: Run, { origin, resource }: Arrangement, used: Used): Promise<void> {
  const { access_token: access, refresh_token: refresh, code } = used;
  const query = new URLSearchParams({ access_token: access, code, refresh_token: refresh }).toString();
  const get = (path: string, headers = {}) => send(`${origin}${path}`, 'GET', headers);
  run.refused(await get(`/mcp?${query}`));
  run.refused(await get(`/oauth/token?${query}`));
  run.refused(await get(`/oauth/callback/okta?state=${code}&code=${refresh}`));
  run.refused(await get(`/oauth/callback/${refresh}`));
  run.refused(await get(`/${refresh}/${code}`));
  run.refused(await get(`/oauth/authorize?client_id=${refresh}&redirect_uri=${code}`));
  run.refused(await get(`/connections/link?ticket=${refresh}`));
  run.refused(await send(resource, 'POST', { authorization: `Bearer ${refresh}` }, '{}'));
  run.refused(await send(resource, 'POST', { authorization: `Basic ${btoa(`${code}:${refresh}`)}` }, '{}'));
  const basic = { authorization: `Basic ${btoa(`client:${refresh}`)}` };
  run.refused(await postForm(`${origin}/oauth/token`, { grant_type: refresh, code, refresh_token: refresh }, basic));
  run.refused(await send(`${origin}/oauth/token`, 'POST', {}, JSON.stringify({ code, refresh_token: refresh })));
  run.refused(
    await postForm(`${origin}/oauth/token`, [
      ['code', code],
      ['code', code],
    ]),
  );
  const asTool = { name: refresh, arguments: { token: access, text: `Bearer ${access}` } };
  run.refused(await sendModern(resource, 'tools/call', asTool, { authorization: `Bearer ${access}` }));
}

async function keep(run: Run, setup: Arrangement): Promise<void> {
  for (const { odd, secret, name } of Object.values(setup.providers)) {
    for (const [issued] of odd!.issued()) run.use(`code or token of ${name}`, issued);
    for (const { form } of odd!.of('/token')) run.use(`verifier of a login step at ${name}`, form.get('code_verifier'));
    for (const { query } of odd!.of('/authorize')) run.use(`nonce of a login step at ${name}`, query.get('nonce'));
    run.use(`client secret at ${name}`, secret);
  }
  const [key, secret] = [keyFile(setup.folder, 1), secretFile(setup.folder, 1)].map((file) => readFile(file, 'utf8'));
  run.use('signing key', (await key!).split('\n')[1]);
  run.use('HMAC secret', (await secret!).trim());
  run.use('status token', STATUS_TOKEN);
  run.use('secret of the introspection client', INTROSPECTION_SECRET);
}

async function start(fixture: StorageFixture): Promise<Arrangement> {
  const setup = await arrange({
    providers: CHAIN,
    storage: fixture.fresh(),
    files: { 'status-token': STATUS_TOKEN, introspection: INTROSPECTION_SECRET },
    authServer: { introspection_clients: [{ client_id: 'asker', client_secret_file: 'introspection' }] },
    config: {
      status_token_file: 'status-token',
      audit_config: { enabled: true, includeRequestData: true, includeResponseData: true, maxDataSize: 1_048_576 },
      operational: { log_level: 'debug' },
    },
  });
  return setup;
}

describeOnEachStorage('the tokens, codes and secrets of a whole run', (fixture) => {
  it('appear in no output: log, audit, metrics, status, error answers, storage', async () => {
    const [run, clock] = [new Run(), setWallClock()];
    const setup = await start(fixture());
    try {
      await doEverything(run, setup, clock);
      await keep(run, setup);
      const at = `http://127.0.0.1:${setup.gateway.runtime.address.privatePort}`;
      const status = await send(`${at}/status`, 'GET', { authorization: `Bearer ${STATUS_TOKEN}` });
      expect(status.status).toBe(200);
      const outputs = {
        'log and audit': setup.gateway.log(),
        metrics: (await send(`${at}/metrics`, 'GET', {})).text,
        status: status.text,
        'error answers': run.answers.join('\n'),
        storage: (await fixture().dump()) ?? '',
      };
      expect(outputs['log and audit']).toContain('"type":"auth_token_revoked"');
      expect(outputs['log and audit']).toContain('"type":"upstream_token_refreshed"');
      expect(run.secrets.size).toBeGreaterThan(60);
      expect(findSecrets(outputs, run.secrets)).toEqual([]);
      // Verifies that the search finds a secret in each encoding.
      const [[one = ''] = []] = run.secrets;
      for (const text of [one, `x${btoa(`ab${one}c`)}`, `?a=${encodeURIComponent(one)}`])
        expect(findSecrets({ text }, run.secrets)).toHaveLength(1);
    } finally {
      jest.restoreAllMocks();
      await setup.close();
    }
  });
});
