import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Behaviour } from '../fakes/backend/behaviours.ts';
import { serveMisbehaving, type MisbehavingBackend } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain, type PlainBackend } from '../fakes/backend/serve-plain.ts';
import { openSession } from '../bench/mcp-client.ts';
import { residentBytes } from '../bench/cpu-time.ts';
import { startGateway, type Gateway } from '../gateway/start-gateway.ts';

const MEBIBYTE = 1024 * 1024;
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  progressToken: 'p',
};

type Era = 'with sessions' | 'without sessions';
const ERAS: Era[] = ['with sessions', 'without sessions'];

interface Outcome {
  status: number;
  headers: Headers;
  /** The last message that has the call's id. */
  answer: { result?: Record<string, unknown>; error?: { message: string; data?: unknown } };
  answers: number;
  bytes: number;
  text: string;
}

let bad: MisbehavingBackend;
let good: PlainBackend;
let gateway: Gateway;
const opened: (() => Promise<void>)[] = [];
let session: Record<string, string>;

beforeAll(async () => {
  bad = await serveMisbehaving(undefined, { bytes: 120 * MEBIBYTE, delayMs: 200 });
  opened.push(bad.close);
  good = await servePlain();
  opened.push(good.close);
  gateway = await startGateway({
    incoming: { type: 'anonymous' },
    backends: [
      { name: 'bad', transport: 'streamable-http', url: bad.url },
      { name: 'busy', transport: 'streamable-http', url: bad.url },
      { name: 'good', transport: 'streamable-http', url: good.url },
    ],
    operational: { timeouts: { default: '60s', per_workload: { bad: '2s' } } },
  });
  opened.push(gateway.stop);
  session = await openSession(gateway.url);
});

afterAll(async () => {
  for (const close of opened.reverse()) await close();
});

function headersOf(era: Era, tool: string): Record<string, string> {
  if (era === 'with sessions') return session;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': tool,
  };
}

async function call(era: Era, name: string): Promise<Outcome> {
  const _meta = era === 'with sessions' ? { progressToken: 'p' } : META;
  const response = await fetch(gateway.url, {
    method: 'POST',
    headers: headersOf(era, name),
    body: JSON.stringify({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name, arguments: {}, _meta } }),
    signal: AbortSignal.timeout(60_000),
  });
  let bytes = 0;
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    text = (text + decoder.decode(chunk as Uint8Array, { stream: true })).slice(-20_000);
  }
  const lines = response.headers.get('content-type') === 'text/event-stream' ? text.split('\n') : [`data: ${text}`];
  const answers = lines
    .filter((line) => line.startsWith('data: {') && line.includes('"id":77'))
    .map((line) => JSON.parse(line.slice(6)) as Outcome['answer']);
  const { status, headers } = response;
  return { status, headers, answer: answers.at(-1) ?? {}, answers: answers.length, bytes, text };
}

/**
 * Calls a tool of the misbehaving backend, then one of the good backend, then the first again after the fault has
 * ended.
 */
async function tryOut(era: Era, behaviour: Behaviour, tool = 'bad_tool_1'): Promise<Outcome> {
  bad.behaveLike(behaviour);
  try {
    return await call(era, tool);
  } finally {
    bad.behaveLike(undefined);
    expect((await call(era, 'good_tool_1')).answer.result).toBeDefined();
    expect((await call(era, 'bad_tool_1')).answer.result).toBeDefined();
  }
}

const REFUSALS: [behaviour: Behaviour, reason: string, message: RegExp][] = [
  ['hang', 'timeout', /did not answer in time/],
  ['diesBeforeAnswer', 'reset', /closed the connection/],
  ['diesMidAnswer', 'reset', /closed the connection/],
  ['diesMidStream', 'protocol', /not valid MCP/],
  ['wrongId', 'protocol', /not valid MCP/],
  ['noId', 'protocol', /not valid MCP/],
  ['garbage', 'protocol', /not valid MCP/],
  ['garbageStream', 'protocol', /not valid MCP/],
  ['html', 'protocol', /not valid MCP/],
  ['serverError', 'http_error', /HTTP error/],
  ['unauthorized', 'unauthorized', /refused the credential/],
  ['forbidden', 'protocol', /backend bad/],
  ['redirect', 'http_error', /HTTP error/],
];

describe.each(ERAS)('the gateway with a misbehaving backend, for clients %s', (era) => {
  it.each(REFUSALS)(
    'turns %s into a JSON-RPC error (%s) at HTTP 200 that names the backend',
    async (behaviour, reason, message) => {
      const { status, answer, answers } = await tryOut(era, behaviour);
      expect([status, answers]).toEqual([200, 1]);
      expect(answer.error?.message).toMatch(message);
      expect(answer.error?.data).toEqual({ backend: 'bad', reason });
    },
  );

  it('waits for a slow answer', async () => {
    expect((await tryOut(era, 'slow')).answer.result).toBeDefined();
  });

  it('relays only one of two answers', async () => {
    const { answers, text } = await tryOut(era, 'answersTwice');
    expect(answers).toBe(1);
    expect(text).not.toContain('again');
  });

  it('removes forged keys of _meta that belong to the protocol', async () => {
    const { answer } = await tryOut(era, 'forgedMeta');
    expect(answer.result?._meta).toEqual({ 'example.test/kept': 'yes' });
  });

  it('hides the backend’s challenge, redirect and error text from the client', async () => {
    const refused = await tryOut(era, 'unauthorized');
    const redirected = await tryOut(era, 'redirect');
    const failed = await tryOut(era, 'serverError');
    expect([refused.headers.get('www-authenticate'), redirected.headers.get('location')]).toEqual([null, null]);
    expect(refused.text + redirected.text + failed.text).not.toMatch(/internal\.test|169\.254|hunter2/);
    expect(gateway.output()).not.toContain('hunter2');
  });

  it('streams 120 MB of progress without buffering it', async () => {
    const before = residentBytes(gateway.pid);
    const { bytes, answer } = await tryOut(era, 'flood', 'busy_tool_1');
    expect(answer.result).toBeDefined();
    expect(bytes).toBeGreaterThan(120 * MEBIBYTE);
    expect(residentBytes(gateway.pid) - before).toBeLessThan(100 * MEBIBYTE);
  });
});
