import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createMcpHandler, ProtocolError, Server, type CallToolResult, type Tool } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { serveWebHandler, type RunningServer } from '../fakes/http/serve-web-handler.ts';
import { send, SessionClient, type Rpc } from '../gateway/session-client.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { configTo } from '../relay/gateway-to.ts';
import { cases, type Case } from './generated-cases.ts';

type Result = NonNullable<Rpc['result']>;

/** Changes of the bridge, and the SDK's server does not for a client of an older revision. */
const TRANSLATIONS = {
  tool: {
    // Clients of the SDK's 1.x line reject a list with boolean schemas of properties.
    'boolean schemas of properties become objects': (tool: Tool): Tool => ({
      ...tool,
      inputSchema: withObjects(tool.inputSchema),
      ...(tool.outputSchema && { outputSchema: withObjects(tool.outputSchema as Tool['inputSchema']) }),
    }),
  },
  result: {
    // The modern server writes its name there, which no legacy client reads.
    'an empty _meta is left out': ({ _meta, ...rest }: Result): Result =>
      JSON.stringify(_meta ?? {}) === '{}' ? rest : { _meta, ...rest },
  },
};

const translated = <T>(one: T, translations: Readonly<Record<string, (one: T) => T>>): T =>
  Object.values(translations).reduce((before, translate) => translate(before), one);

function withObjects<T extends Tool['inputSchema']>(schema: T): T {
  if (!schema.properties) return schema;
  const properties = Object.entries(schema.properties as Record<string, unknown>).map(([name, value]) => {
    const object = value === true ? {} : { not: {} };
    return [name, typeof value === 'boolean' ? object : value];
  });
  return { ...schema, properties: Object.fromEntries(properties) as T['properties'] };
}

let present: readonly Case[] = [];

/* eslint-disable @typescript-eslint/no-deprecated -- only this class takes any schema and any result */

/** A server of the cases that are `present`. Each request has a server of its own. */
function build(): Server {
  const server = new Server({ name: 'cases', version: '1' }, { capabilities: { tools: {} } });
  const tools = present.map(({ tool }, index) => ({ ...tool, name: `tool${index}` }));
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const index = Number(params.name.slice('tool'.length));
    const { tool, outcome } = present[index]!;
    if ('error' in outcome) throw new ProtocolError(outcome.error.code, outcome.error.message, outcome.error.data);
    return server.projectCallToolResult(outcome.result as CallToolResult, tool.outputSchema);
  });
  return server;
}

/* eslint-enable @typescript-eslint/no-deprecated */

/** `both` speaks all revisions, `modern` only 2026-07-28. */
let servers: Record<'both' | 'modern', RunningServer>;

beforeAll(async () => {
  const serve = (handler: ReturnType<typeof createMcpHandler>) =>
    serveWebHandler((request) => handler.fetch(request), 0);
  servers = {
    both: await serve(createMcpHandler(build)),
    modern: await serve(createMcpHandler(build, { legacy: 'reject' })),
  };
});
afterAll(() => Promise.all(Object.values(servers).map((server) => server.close())));

async function direct(method: string, params: object): Promise<Rpc> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return (await send(servers.both.origin, 'POST', { 'mcp-protocol-version': '2025-11-25' }, body)).answer;
}

async function compare(some: readonly Case[]): Promise<void> {
  present = some;
  const gateway = await serveGateway(configTo({ one: servers.modern.origin }));
  try {
    const client = await SessionClient.open(gateway.url);
    const bridged = await client.request('tools/list', {});
    const listed = (await direct('tools/list', {})).result?.tools as Tool[];
    expect(bridged.answer.result?.tools).toEqual(
      listed.map((tool) => ({ ...translated(tool, TRANSLATIONS.tool), name: `one_${tool.name}` })),
    );
    for (const index of some.keys()) {
      const [own, answer] = await Promise.all([
        direct('tools/call', { name: `tool${index}`, arguments: {} }),
        client.call(`one_tool${index}`, {}),
      ]);
      expect({ result: answer.answer.result, error: answer.answer.error }).toEqual({
        result: own.result && translated(own.result, TRANSLATIONS.result),
        error: own.error,
      });
    }
  } finally {
    await gateway.close();
  }
}

describe('a server of 2026-07-28 behind the bridge', () => {
  it('answers as it answers clients of older revisions itself, except for the translations', async () => {
    await fc.assert(fc.asyncProperty(cases, compare), { numRuns: 15, interruptAfterTimeLimit: 12_000 });
  }, 60_000);
});
