import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { makeKey, sign, startIssuer } from '#runtime/incoming/testdata/fake-issuer';
import { serveLegacy, type RunTool } from '../bridges/serve-legacy.ts';
import { sendModern } from '../gateway/session-client.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { replicaOf, sharedIn, type Shared } from './replicas.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
const accepted = { action: 'accept', content: { name: 'Ada' } };
const inputResponses = { 'elicitation-1': accepted };
const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const INVALID = { error: { code: -32602, data: { reason: 'invalid_request_state' } } };
/** More than the requests that may wait for one call. */
const REPEATS = 20;

describeWithRedis('a message by which a replica forwards a retry', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  /** Lets the calls of `ask_and_wait` end. */
  let release: () => void;

  /** Starts two replicas in front of one backend, and records the messages between them. */
  async function start(more: Partial<GatewayConfig> = {}, shared = sharedIn({ addr: redis!.address })) {
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tools: Record<string, RunTool> = {
      ask: async ({ ask }) => text((await ask('elicitation/create', { message: 'Name?' })).result),
      ask_and_wait: async ({ ask }) => {
        const { result } = await ask('elicitation/create', { message: 'Name?' });
        await released;
        return text(result);
      },
    };
    const backend = closing(await serveLegacy({ tools }));
    const replica = () => replicaOf(shared, { a: backend.url }, more);
    const [here, there] = [await replica(), await replica()];
    const channel = channelOf(shared);
    const messages: string[] = [];
    const listener = new Redis(redis!.port);
    closing({ close: () => listener.disconnect() });
    listener.on('message', (_channel: string, message: string) => messages.push(message));
    await listener.subscribe(channel);
    const publish = (message: string) => redis!.command('PUBLISH', channel, message);
    /** Number of answers of clients that reached the backend. */
    const answered = () => backend.seen.filter(({ message }) => message.id === 'q1' && !message.method).length;
    return { backend, here, there, messages, publish, answered };
  }

  const call = async (
    at: { url: string },
    name: string,
    more: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) => (await sendModern(at.url, 'tools/call', { name: `a_${name}`, arguments: {}, ...more, _meta }, headers)).answer;

  const park = async (at: { url: string }, name: string, headers?: Record<string, string>) =>
    (await call(at, name, {}, headers)).result?.requestState;

  it('has no effect when it is repeated after the answer', async () => {
    const { backend, here, there, messages, publish, answered } = await start();
    const requestState = await park(here, 'ask');
    expect((await call(there, 'ask', { requestState, inputResponses })).result).toMatchObject(text(accepted));
    expect(messages.length).toBeGreaterThan(0);
    for (const message of [...messages, ...messages]) await publish(message);
    const next = await park(here, 'ask');
    expect((await call(there, 'ask', { requestState: next, inputResponses })).result).toBeDefined();
    expect([backend.count('tools/call'), answered()]).toEqual([2, 1]);
  });

  it('takes no place of the retry when it is repeated before the answer', async () => {
    const { backend, here, there, messages, publish, answered } = await start();
    const requestState = await park(here, 'ask_and_wait');
    const before = messages.length;
    const retry = call(there, 'ask_and_wait', { requestState, inputResponses });
    await until('the answer at the backend', () => answered() === 1);
    const sent = messages.slice(before);
    for (let times = 0; times < REPEATS; times += 1) for (const message of sent) await publish(message);
    release();
    expect((await retry).result).toMatchObject(text(accepted));
    expect([backend.count('tools/call'), answered()]).toEqual([1, 1]);
  });

  it('gets refused if one character differs', async () => {
    const { backend, here, there, messages, publish, answered } = await start();
    const requestState = await park(here, 'ask_and_wait');
    const retry = call(there, 'ask_and_wait', { requestState, inputResponses });
    await until('the answer at the backend', () => answered() === 1);
    const unread = () =>
      here
        .log()
        .split('\n')
        .filter((line) => line.includes('cannot be read')).length;
    const sent = [...messages];
    for (const message of sent) {
      const at = Math.floor(message.length / 2);
      await publish(`${message.slice(0, at)}${message[at] === 'A' ? 'B' : 'A'}${message.slice(at + 1)}`);
    }
    await until('a refusal of each message', () => unread() === sent.length);
    release();
    expect((await retry).result).toMatchObject(text(accepted));
    expect(backend.count('tools/call')).toBe(1);
  });

  it.each([
    ['another secret', () => sharedIn({ addr: redis!.address }), {}],
    ['the same secret', (own: Shared) => own, { server: { namespace: 'e2e', name: 'other', uid: 'other' } }],
  ])('cannot be read by the replicas of another server with %s', async (_name, sharedOf, more) => {
    const own = sharedIn({ addr: redis!.address });
    const { backend, here, there, messages, answered } = await start({}, own);
    const other = sharedOf(own);
    const stranger = await replicaOf(other, { a: backend.url }, more);
    const requestState = await park(here, 'ask_and_wait');
    const retry = { requestState, inputResponses };
    expect(await call(stranger, 'ask_and_wait', retry)).toMatchObject(INVALID);
    const answer = call(there, 'ask_and_wait', retry);
    await until('the answer at the backend', () => answered() === 1);
    const sent = [...messages];
    for (const message of sent) await redis!.command('PUBLISH', channelOf(other), message);
    await until('a refusal', () => stranger.log().includes('cannot be read'));
    release();
    expect((await answer).result).toMatchObject(text(accepted));
    expect(backend.count('tools/call')).toBe(1);
  });

  it('goes out for no other principal', async () => {
    const key = await makeKey('forged');
    const issuer = closing(await startIssuer([key.jwk]));
    const incoming = { type: 'oidc', issuer: issuer.issuer, audience: 'vmcp', jwks_allow_private_ip: true } as const;
    const { backend, here, there, messages } = await start({ incoming });
    const iat = Math.floor(Date.now() / 1000);
    const bearer = async (sub: string) => ({
      authorization: `Bearer ${await sign({ iss: issuer.issuer, aud: 'vmcp', iat, exp: iat + 600, sub }, key)}`,
    });
    const [alice, bob] = [await bearer('alice'), await bearer('bob')];
    const requestState = await park(here, 'ask', alice);
    const before = messages.length;
    const retry = { requestState, inputResponses };
    for (const at of [here, there]) expect(await call(at, 'ask', retry, bob)).toMatchObject(INVALID);
    expect(messages.length).toBe(before);
    expect((await call(there, 'ask', retry, alice)).result).toMatchObject(text(accepted));
    expect(backend.count('tools/call')).toBe(1);
  });
});

function channelOf({ settings }: Shared): string {
  const storage = settings.session_storage;
  return `${storage?.type === 'redis' ? storage.redis.key_prefix : ''}news`;
}
