import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { listenOn } from '#runtime/http/listen-on';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { send, sendModern, type Rpc } from '../gateway/session-client.ts';
import { configTo } from '../relay/gateway-to.ts';
import { cases, json, meta, word, type Case } from './generated-cases.ts';

/** A generated server. */
interface Generated {
  readonly tools: readonly Case[];
  /** Contents of a prompt and of a resource, or a resource that the server does not find. */
  readonly prompt: object;
  readonly resource: object | undefined;
  readonly execution: object | undefined;
  /** Error with a code that revision 2026-07-28 reserves, in place of the first tool's outcome. */
  readonly reserved: number | undefined;
  readonly asEvents: boolean;
}

type Entry = Record<string, unknown>;
interface Outcome {
  readonly result?: Rpc['result'] | undefined;
  readonly error?: Rpc['error'] | undefined;
}

const METHOD_NOT_FOUND = { code: -32601, message: 'Method not found' };

/** Changes of the bridge. `direct`: what the server answers a client of its own revision. */
const TRANSLATIONS = {
  tool: {
    'execution is dropped, as tasks are not bridged': (tool: Entry): Entry => ({ ...tool, execution: undefined }),
  },
  list: {
    'a list has a result type': (list: Entry): Entry => ({ ...list, resultType: 'complete' }),
    'the gateway says how long a list is valid': (list: Entry): Entry => ({
      ...list,
      ttlMs: expect.any(Number),
      cacheScope: expect.stringMatching(/^(public|private)$/),
    }),
  },
  result: {
    'a result has a result type': (result: Entry): Entry => ({ ...result, resultType: 'complete' }),
  },
  read: {
    'a resource is valid for this answer alone': (result: Entry): Entry => ({
      ...result,
      ttlMs: 0,
      cacheScope: 'private',
    }),
  },
  error: {
    'an unknown resource is an invalid parameter that names it': (error: Entry): Entry =>
      error.code === -32002 ? { ...error, code: -32602, data: { uri: 'case://one' } } : error,
    'a code that revision 2026-07-28 reserves is an internal error': (error: Entry): Entry =>
      [-32020, -32021, -32022].includes(Number(error.code)) ? { ...error, code: -32603 } : error,
  },
};

const translated = (one: Entry, ...all: Readonly<Record<string, (one: Entry) => Entry>>[]): Entry =>
  all.flatMap((table) => Object.values(table)).reduce((before, translate) => translate(before), one);

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const content = fc.record({ type: fc.constant('text'), text: word, _meta: meta }, { requiredKeys: ['type', 'text'] });
const generated: fc.Arbitrary<Generated> = fc.record({
  tools: cases,
  prompt: fc.record(
    {
      messages: fc.array(fc.record({ role: fc.constantFrom('user', 'assistant'), content }), { maxLength: 3 }),
      description: word,
      more: json,
    },
    { requiredKeys: ['messages'] },
  ),
  resource: optional(
    fc.record(
      { contents: fc.array(fc.record({ uri: fc.constant('case://one'), text: word }), { maxLength: 2 }), _meta: meta },
      { requiredKeys: ['contents'] },
    ),
  ),
  execution: optional(fc.record({ taskSupport: fc.constantFrom('optional', 'forbidden') })),
  reserved: optional(fc.constantFrom(-32020, -32021, -32022)),
  asEvents: fc.boolean(),
});

let present: Generated;

function callTool({ tools, reserved }: Generated, name: string): Outcome {
  const index = Number(name.slice('tool'.length));
  if (index === 0 && reserved !== undefined) return { error: { code: reserved, message: 'own meaning' } };
  return tools[index]!.outcome as Outcome;
}

/** Answers as a server of 2025-11-25 without sessions. */
function answer({ method, params = {} }: Rpc): Outcome {
  const { tools, prompt, resource, execution } = present;
  const answers: Record<string, () => Outcome> = {
    initialize: () => ({
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: 'generated', version: '1' },
      },
    }),
    'tools/list': () => ({
      result: { tools: tools.map(({ tool }, at) => ({ ...tool, name: `tool${at}`, execution })) },
    }),
    'tools/call': () => callTool(present, String(params.name)),
    'prompts/list': () => ({ result: { prompts: [{ name: 'one' }] } }),
    'prompts/get': () => ({ result: prompt as Entry }),
    'resources/list': () => ({ result: { resources: [{ uri: 'case://one', name: 'one' }] } }),
    'resources/read': () =>
      resource ? { result: resource as Entry } : { error: { code: -32002, message: 'Resource not found' } },
    'resources/templates/list': () => ({ result: { resourceTemplates: [] } }),
  };
  return answers[method ?? '']?.() ?? { error: METHOD_NOT_FOUND };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const message = JSON.parse((await text(request)) || '{}') as Rpc;
  if (request.method !== 'POST') response.writeHead(405).end();
  else if (message.id === undefined) response.writeHead(202).end();
  else {
    const body = JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer(message) });
    const { asEvents } = present;
    response.writeHead(200, { 'content-type': asEvents ? 'text/event-stream' : 'application/json' });
    response.end(asEvents ? `data: ${body}\n\n` : body);
  }
}

const server = createServer((request, response) => void serve(request, response));
let url: string;
beforeAll(async () => {
  url = `http://127.0.0.1:${await listenOn(server, '127.0.0.1', 0)}/mcp`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

async function direct(method: string, params: object): Promise<Outcome> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const { result, error } = (await send(url, 'POST', { 'mcp-protocol-version': '2025-11-25' }, body)).answer;
  return { result, error };
}

async function compare(some: Generated): Promise<void> {
  present = some;
  const gateway = await serveGateway(configTo({ one: url }));
  const bridged = async (method: string, params: Entry = {}): Promise<Outcome> => {
    const { result, error } = (await sendModern(gateway.url, method, params)).answer;
    return { result, error };
  };
  const compareCalls = async (method: string, params: Entry, own: Entry, ...more: (typeof TRANSLATIONS.read)[]) => {
    const { result, error } = await direct(method, own);
    expect(await bridged(method, params)).toEqual({
      result: result && translated(result, TRANSLATIONS.result, ...more),
      error: error && translated(error, TRANSLATIONS.error),
    });
  };
  try {
    const listed = (await direct('tools/list', {})).result ?? {};
    const tools = (listed.tools as Entry[]).map((tool) => translated(tool, TRANSLATIONS.tool));
    expect((await bridged('tools/list')).result).toEqual(
      translated({ tools: tools.map((tool) => ({ ...tool, name: `one_${String(tool.name)}` })) }, TRANSLATIONS.list),
    );
    for (const index of some.tools.keys()) {
      const call = (name: string) => ({ name, arguments: {} });
      await compareCalls('tools/call', call(`one_tool${index}`), call(`tool${index}`));
    }
    await compareCalls('prompts/get', { name: 'one_one' }, { name: 'one' });
    await compareCalls('resources/read', { uri: 'case://one' }, { uri: 'case://one' }, TRANSLATIONS.read);
  } finally {
    await gateway.close();
  }
}

describe('a server of 2025-11-25 behind the bridge', () => {
  it('answers as it answers clients of its own revision, except for the translations', async () => {
    await fc.assert(fc.asyncProperty(generated, compare), { numRuns: 15, interruptAfterTimeLimit: 12_000 });
  }, 60_000);
});
