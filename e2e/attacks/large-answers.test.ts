import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { peakBytes, resetPeak, residentBytes } from '../bench/cpu-time.ts';
import { serveMisbehaving, type MisbehavingBackend } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain, type PlainBackend } from '../fakes/backend/serve-plain.ts';
import { SessionClient, modernRequest, type Headers } from '../gateway/session-client.ts';
import { startGateway, type Gateway } from '../gateway/start-gateway.ts';

const MEBIBYTE = 1024 * 1024;
const LIMIT = 64 * MEBIBYTE;

let huge: MisbehavingBackend;
let odd: PlainBackend;
let gateway: Gateway;
let client: SessionClient;
/** Content type of the odd backend's next answer. */
let oddType = 'application/json';
let writeOdd: (response: ServerResponse, id: unknown) => void;

beforeAll(async () => {
  huge = await serveMisbehaving('huge', { tools: 1, bytes: 48 * MEBIBYTE });
  odd = await servePlain({
    tools: 1,
    intercept: (_request, response, body) => {
      if (!body.includes('tools/call')) return false;
      response.writeHead(200, { 'content-type': oddType });
      writeOdd(response, (JSON.parse(body) as { id: unknown }).id);
      return true;
    },
  });
  gateway = await startGateway({
    incoming: { type: 'anonymous' },
    backends: [
      { name: 'huge', transport: 'streamable-http', url: huge.url },
      { name: 'odd', transport: 'streamable-http', url: odd.url },
    ],
    limits: { max_response_bytes: LIMIT },
  });
  client = await SessionClient.open(gateway.url);
  await client.toolNames();
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([huge.close(), odd.close()]);
});

interface Received {
  bytes: number;
  head: string;
  tail: string;
  complete: boolean;
}

const ERAS = ['with sessions', 'without sessions'] as const;
type Era = (typeof ERAS)[number];

/** Sends a call with the progress token 1. Returns its answer with an unread body. */
function open(era: Era, name: string): Promise<IncomingMessage> {
  const params = { name, arguments: { text: 'x' }, _meta: { progressToken: 1 } };
  const { body, headers }: { body: string; headers: Headers } =
    era === 'with sessions'
      ? { body: client.message('tools/call', params), headers: client.headers }
      : modernRequest('tools/call', params);
  return new Promise((resolve, reject) => {
    const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
    httpRequest(gateway.url, { method: 'POST', headers: all, agent: false }, resolve).on('error', reject).end(body);
  });
}

async function read(response: IncomingMessage): Promise<Received> {
  const received: Received = { bytes: 0, head: '', tail: '', complete: false };
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      received.bytes += chunk.length;
      if (received.head.length < 200) received.head += chunk.toString();
      received.tail = (received.tail + chunk.toString()).slice(-200);
    }
  } catch {
    // The runtime cut the answer off.
  }
  received.complete = response.complete;
  return received;
}

async function readAll(response: IncomingMessage): Promise<{ text: string; complete: boolean }> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch {
    // The runtime cut the answer off.
  }
  return { text: Buffer.concat(chunks).toString(), complete: response.complete };
}

describe.each(ERAS)('an answer of many megabytes, for clients %s', (era) => {
  it('passes through whole, and leaves nothing in memory', async () => {
    const before = residentBytes(gateway.pid);
    for (let answer = 0; answer < 20; answer++) {
      const { bytes, tail, complete } = await read(await open(era, 'huge_tool_0'));
      expect(complete).toBe(true);
      expect(bytes).toBeGreaterThan(48 * MEBIBYTE);
      expect(tail).toMatch(/x"}]}}$/);
    }
    // 960 MiB went through. Node keeps some 100 MiB of memory for traffic to come, however much went through before.
    expect(residentBytes(gateway.pid) - before).toBeLessThan(160 * MEBIBYTE);
  });

  it('waits for slow readers, and does not pile up in memory', async () => {
    const before = residentBytes(gateway.pid);
    const answers = await Promise.all(Array.from({ length: 8 }, () => open(era, 'huge_tool_0')));
    await sleep(1_500);
    expect(residentBytes(gateway.pid) - before).toBeLessThan(100 * MEBIBYTE);
    const [first, ...others] = answers;
    for (const other of others) other.destroy();
    expect(first && (await read(first))).toMatchObject({ complete: true });
  });

  it('breaks off at the size limit, so that no client takes it for the whole', async () => {
    writeOdd = (response, id) => {
      response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":["`);
      const more = () => {
        while (!response.destroyed && response.write('y'.repeat(MEBIBYTE)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    const { bytes, complete } = await read(await open(era, 'odd_tool_0'));
    expect(complete).toBe(false);
    expect(bytes).toBeLessThanOrEqual(LIMIT);
  });

  it('breaks off if it has another id at its end', async () => {
    writeOdd = (response) => {
      response.write(`{"jsonrpc":"2.0","result":{"content":["${'y'.repeat(4 * MEBIBYTE)}"]},"id":`);
      response.end('"somebody-elses"}');
    };
    expect(await read(await open(era, 'odd_tool_0'))).toMatchObject({ complete: false });
  });

  it('becomes an error without any of its content if it has another id at its beginning', async () => {
    writeOdd = (response) => {
      response.end(`{"jsonrpc":"2.0","id":"somebody-elses","result":{"content":["${'y'.repeat(4 * MEBIBYTE)}"]}}`);
    };
    const { head, complete } = await read(await open(era, 'odd_tool_0'));
    expect(complete).toBe(true);
    expect(JSON.parse(head)).toMatchObject({ error: { data: { backend: 'odd', reason: 'protocol' } } });
  });

  it('breaks off if the backend breaks it off', async () => {
    writeOdd = (response, id) => {
      const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":["${'y'.repeat(4 * MEBIBYTE)}`;
      response.write(text, () => response.destroy());
    };
    expect(await read(await open(era, 'odd_tool_0'))).toMatchObject({ complete: false });
  });

  it('loses the _meta keys that its backend may not set, at any position', async () => {
    writeOdd = (response, id) => {
      response.write(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":["${'y'.repeat(2 * MEBIBYTE)}"],`,
      );
      response.end('"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"forged"},"mine":1}}}');
    };
    const { tail, complete } = await read(await open(era, 'odd_tool_0'));
    expect(complete).toBe(true);
    expect(tail).toMatch(/"_meta":\{"mine":1\}\}\}$/);
  });
});

describe.each(ERAS)('a large event in the stream of a call, for clients %s', (era) => {
  const text = 'y'.repeat(4 * MEBIBYTE);
  const response = (id: unknown) => `{"result":{"content":["${text}"]},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;

  function writeEvents(write: (id: unknown) => string): void {
    oddType = 'text/event-stream';
    writeOdd = (to, id) => {
      to.end(write(id));
    };
  }
  afterEach(() => {
    oddType = 'application/json';
  });

  it('passes whole after the events before it, without the keys that its backend may not set', async () => {
    const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
    const meta = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"forged"},"mine":1}';
    writeEvents((id) => {
      const data = response(id).replace('"content"', `${meta},"content"`);
      return `data: ${progress}\n\ndata: ${data.slice(0, 50)}\r\ndata: ${data.slice(50)}\r\n\r\n`;
    });
    const { text: received, complete } = await readAll(await open(era, 'odd_tool_0'));
    expect(complete).toBe(true);
    const events = received.trimEnd().split('\n\n');
    const [first, second] = events.map((event) => JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '') as object);
    expect(events).toHaveLength(2);
    expect(first).toMatchObject({ method: 'notifications/progress' });
    expect(second).toMatchObject({ result: { _meta: { mine: 1 }, content: [text] } });
    expect(JSON.stringify(second).slice(0, 200)).not.toContain('forged');
  });

  it.each([
    ['the answer to another request', () => response('another').replace(/^\{(.*),"id":(.*)\}$/, '{"id":$2,$1}')],
    ['no message', () => `{"jsonrpc":"2.0","id":1,"result":[${'['.repeat(300)}"${text}"]}`],
  ])('stays out of the answer if it is %s, and later events arrive', async (_what, odd) => {
    writeEvents((id) => `data: ${odd()}\n\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"mine":1}}\n\n`);
    const { text: received, complete } = await readAll(await open(era, 'odd_tool_0'));
    expect(complete).toBe(true);
    expect(received.length).toBeLessThan(1000);
    expect(received).toContain('"mine":1');
  });

  it.each([
    ['with another id at its end', () => `data: ${response('another')}\n\n`],
    ['that breaks in the middle', (id: unknown) => `data: ${response(id).slice(0, 2 * MEBIBYTE)}`],
  ])('never reaches the client whole if it is one %s', async (_what, write) => {
    writeEvents(write);
    const { text: received } = await readAll(await open(era, 'odd_tool_0'));
    expect(received.split('\n\n').filter((event) => event.includes(text))).toEqual([]);
  });

  it('counts and arrives whole if it is a request or a notification', async () => {
    const message = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${text}"}}`;
    writeEvents((id) => `data: ${message}\n\ndata: ${response(id)}\n\n`);
    const { text: received, complete } = await readAll(await open(era, 'odd_tool_0'));
    expect(complete).toBe(true);
    expect(received.length).toBeGreaterThan(8 * MEBIBYTE);
    expect(received).toMatch(/^event: message\ndata: \{"jsonrpc":"2.0","method":"notifications\/message"/);
  });
});

describe('parallel events of many megabytes', () => {
  it('pass as they arrive, and leave nothing in memory', async () => {
    oddType = 'text/event-stream';
    writeOdd = (response, id) => {
      response.write(`id: 7\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":["`);
      let sent = 0;
      const more = () => {
        while (sent < 40 && !response.destroyed) {
          sent++;
          if (!response.write('y'.repeat(MEBIBYTE))) {
            response.once('drain', more);
            return;
          }
        }
        response.end('"]}}\n\n');
      };
      more();
    };
    const before = residentBytes(gateway.pid);
    resetPeak(gateway.pid);
    const answers = await Promise.all(Array.from({ length: 12 }, () => open('with sessions', 'odd_tool_0').then(read)));
    oddType = 'application/json';
    for (const { bytes, tail } of answers) {
      expect(bytes).toBeGreaterThan(40 * MEBIBYTE);
      expect(tail).toMatch(/y"\]\}\}\nid: odd:\S+:7\n\n$/);
    }
    expect(peakBytes(gateway.pid) - before).toBeLessThan(200 * MEBIBYTE);
    expect((await client.request('ping')).status).toBe(200);
  });
});

describe('an answer', () => {
  it('becomes an error without any of its content if its announced length exceeds the limit', async () => {
    const size = LIMIT + 1;
    const told = await servePlain({
      tools: 1,
      intercept: (_request, response, body) => {
        if (!body.includes('tools/call')) return false;
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': size });
        response.write('{"jsonrpc"');
        return true;
      },
    });
    const other = await startGateway({
      incoming: { type: 'anonymous' },
      backends: [{ name: 'told', transport: 'streamable-http', url: told.url }],
      limits: { max_response_bytes: LIMIT },
    });
    try {
      const session = await SessionClient.open(other.url);
      const { status, answer } = await session.call('told_tool_0', { text: 'x' });
      expect([status, answer.error?.data]).toEqual([200, { backend: 'told', reason: 'too_large' }]);
    } finally {
      await other.stop();
      await told.close();
    }
  });
});
