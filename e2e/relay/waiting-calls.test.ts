import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, type SdkServer, startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterAll(closeAll);

type Kind = 'streamable-http' | 'sse' | 'stdio';
type Stream = 'call' | 'session';

const DID_NOT_ANSWER = /did not answer in time/;

/** Servers over HTTP and SSE, which all tests share. */
const servers: Partial<Record<Kind, Promise<SdkServer>>> = {};
afterAll(async () => {
  for (const server of Object.values(servers)) await (await server).stop();
});

async function gatewayBefore(kind: Kind, operational: { timeouts: { default: string; maximum?: string } }) {
  if (kind === 'stdio') {
    const stdio = { name: 'a', transport: kind, stdio_process: 'perSession', ...sdkServerCommand('old') } as const;
    return closing(await serveGateway({ incoming: { type: 'anonymous' }, backends: [stdio], operational }));
  }
  servers[kind] ??= startSdkServer('old', { transport: kind === 'sse' ? 'sse' : 'http', keepAliveMs: 100 });
  const { url } = await servers[kind];
  return gatewayTo({ a: { url, transport: kind } }, { operational });
}

/** Connects a client whose user takes this many milliseconds to answer. */
async function clientOf(url: string, answersAfter: number) {
  let answered = false;
  let opened = false;
  const elicit = async () => {
    await sleep(answersAfter);
    answered = true;
    return { action: 'accept' as const, content: { name: 'Ada' } };
  };
  const watched: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    opened ||= init?.method === 'GET' && response.ok;
    return response;
  };
  const client = closing(await connectOldClient(new URL(url), { answers: { elicit }, fetch: watched }));
  await until('the stream of the client', () => opened);
  await until('the tools', async () => (await client.listTools()).tools.some(({ name }) => name === 'a_elicit'));
  const call = (name: string, args: object) =>
    client.callTool({ name: `a_${name}`, arguments: { ...args } }, undefined, { timeout: 300_000 });
  return { call, isAnswered: () => answered };
}

const WAYS: [Kind, Stream][] = [
  ['streamable-http', 'call'],
  ['streamable-http', 'session'],
  ['sse', 'call'],
  ['stdio', 'call'],
];

// Concurrent tests run concurrently only within one `describe`.
describe('a call that asks the client', () => {
  it.concurrent.each(WAYS)(
    'over %s on the stream of the %s waits longer than its deadline for the answer',
    async (kind, stream) => {
      const gateway = await gatewayBefore(kind, { timeouts: { default: '4s' } });
      const { call } = await clientOf(gateway.url, 10_000);
      expect(JSON.stringify(await call('elicit', { stream }))).toContain('Ada');
    },
  );

  it.concurrent.each(WAYS)('over %s on the stream of the %s waits no longer than the maximum', async (kind, stream) => {
    const gateway = await gatewayBefore(kind, { timeouts: { default: '4s', maximum: '10s' } });
    const { call, isAnswered } = await clientOf(gateway.url, 40_000);
    const began = performance.now();
    await expect(call('elicit', { stream })).rejects.toThrow(DID_NOT_ANSWER);
    expect(performance.now() - began).toBeGreaterThan(9_900);
    expect(isAnswered()).toBe(false);
  });
});

describe('a silent call', () => {
  it.concurrent('ends while another call waits for its client', async () => {
    const gateway = await gatewayBefore('streamable-http', { timeouts: { default: '4s' } });
    const { call, isAnswered } = await clientOf(gateway.url, 30_000);
    call('elicit', { stream: 'call' }).catch(() => undefined);
    await expect(call('patient', { ms: 600_000 })).rejects.toThrow(DID_NOT_ANSWER);
    expect(isAnswered()).toBe(false);
  });

  it.concurrent('ends after an answer on the stream of the session, and not before', async () => {
    const gateway = await gatewayBefore('streamable-http', { timeouts: { default: '4s' } });
    const { call, isAnswered } = await clientOf(gateway.url, 12_000);
    const asking = call('elicit', { stream: 'session' });
    await expect(call('patient', { ms: 600_000 })).rejects.toThrow(DID_NOT_ANSWER);
    expect(isAnswered()).toBe(true);
    await asking;
  });
});
