import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { sendModern } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange } from './arrangement.ts';
import { toolNames, whoIs } from './call-tool.ts';
import { claimsOf } from './oauth-client.ts';
import { accountAt, type ProviderSpec } from './providers.ts';
import { setWallClock, type WallClock } from './wall-clock.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';

afterEach(async () => {
  await closeAll();
  jest.restoreAllMocks();
});

type Answer = (response: ServerResponse) => void;
const json =
  (status: number, body: unknown): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const exchanged = (more: object = {}): object => ({
  access_token: new UnsecuredJWT({ aud: 'files' }).setExpirationTime('5m').encode(),
  issued_token_type: ACCESS_TOKEN,
  token_type: 'Bearer',
  expires_in: 300,
  ...more,
});

/** Starts a backend `files` that takes tokens which a service exchanges for Okta's stored ones. */
async function start(subjectTokenType?: string) {
  const asked: URLSearchParams[] = [];
  const state = { answer: json(200, exchanged()) };
  const service = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      asked.push(new URLSearchParams(text));
      state.answer(response);
    });
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  closing({
    close() {
      service.closeAllConnections();
      return new Promise((resolve) => service.close(resolve));
    },
  });
  const backend = closing(await servePlain({ tools: 1 }));
  const auth = {
    type: 'token_exchange' as const,
    token_url: `http://127.0.0.1:${(service.address() as AddressInfo).port}/token`,
    client_id: 'vmcp',
    audience: 'files',
    scopes: ['read'],
    subject_provider_name: 'okta',
    ...(subjectTokenType !== undefined && { subject_token_type: subjectTokenType }),
  };
  const backends = [{ name: 'files', transport: 'streamable-http' as const, url: backend.url, auth }];
  const config = { operational: { timeouts: { default: '3s' } } };
  const setup = closing(await arrange({ providers: [OKTA], backends, config }));
  const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
  const call = () =>
    sendModern(
      setup.resource,
      'tools/call',
      { name: 'files_tool_0', arguments: { text: 'x' } },
      { authorization: `Bearer ${token}` },
    );
  const others = async () => accountAt(setup.providers.okta!, await whoIs(setup.resource, token, 'okta'));
  return { setup, token, asked, state, call, others };
}

describe('the exchange of a stored upstream token', () => {
  it('sends that user’s own token with its type, never the caller’s, and happens once', async () => {
    const at = await start();
    for (let calls = 0; calls < 3; calls += 1) expect((await at.call()).answer.result).toBeDefined();
    expect(at.asked).toHaveLength(1);
    expect(at.asked[0]?.get('subject_token_type')).toBe(ACCESS_TOKEN);
    const subject = at.asked[0]?.get('subject_token') ?? '';
    expect(at.setup.providers.okta?.odd?.issued()).toContainEqual([subject, 'alice']);
    expect(subject).not.toBe(at.token);
  });

  it('sends the ID token if that type is configured', async () => {
    const at = await start(ID_TOKEN);
    expect((await at.call()).answer.result).toBeDefined();
    expect(at.asked[0]?.get('subject_token_type')).toBe(ID_TOKEN);
    const payload = claimsOf(at.asked[0]?.get('subject_token') ?? '');
    expect(payload).toMatchObject({ iss: at.setup.providers.okta?.issuer, sub: 'alice' });
  });

  it('fails only its own call in any failure, with a clear error in bounded time, and does not cache the failure', async () => {
    const clock = setWallClock();
    await Promise.all(Object.entries(FAULTS).map(([name, answer]) => checkFault(name, answer, clock)));
  });
});

const FAULTS: Readonly<Record<string, Answer>> = {
  fails: json(500, { error: 'server_error', error_description: 'secret-detail' }),
  refuses: json(400, { error: 'invalid_target', error_description: 'secret-detail' }),
  'answers with HTML': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>x</h1>'),
  'gives a token for another audience': json(200, exchanged({ access_token: unsigned({ aud: 'elsewhere' }) })),
  'gives a wider scope': json(200, exchanged({ scope: 'read admin' })),
  'never answers': () => undefined,
};

async function checkFault(name: string, answer: Answer, clock: WallClock): Promise<void> {
  const at = await start();
  at.state.answer = json(200, exchanged({ expires_in: 1 }));
  expect(await toolNames(at.setup.resource, at.token)).toContain('files_tool_0');
  at.state.answer = answer;
  clock.forward(1_000);
  const started = performance.now();
  const { status, text, answer: reply } = await at.call();
  expect(performance.now() - started).toBeLessThan(20_000);
  expect({ name, status, error: reply.error?.message }).toEqual({
    name,
    status: 200,
    error: expect.stringContaining('files'),
  });
  expect(text).not.toContain('secret-detail');
  expect(await at.others()).toBe('alice');
  at.state.answer = json(200, exchanged());
  // The runtime does not repeat a running exchange, or one that has just failed.
  let result: unknown;
  for (let tries = 0; tries < 60 && result === undefined; tries += 1) {
    await sleep(100);
    clock.forward(1_000);
    ({ result } = (await at.call()).answer);
  }
  expect({ name, result }).toEqual({ name, result: expect.objectContaining({ content: expect.anything() }) });
}

function unsigned(claims: Record<string, unknown>): string {
  return new UnsecuredJWT(claims).setExpirationTime('5m').encode();
}
