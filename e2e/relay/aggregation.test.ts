import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveFake } from '../fakes/mcp/serve.ts';
import { sendModern, SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

type Aggregation = RunConfigDocument['aggregation'];

/** Starts a backend whose tools answer with its name and theirs. */
async function telling(who: string, ...names: string[]): Promise<string> {
  const served = await serveFake({
    name: who,
    tools: () => names.map((name) => ({ name, description: `${name} of ${who}`, inputSchema: { type: 'object' } })),
    call: (name) => JSON.stringify({ content: [{ type: 'text', text: `${who}.${name}` }] }),
  });
  return closing(served).url;
}

/** Maps each advertised name to the tool that answers. */
async function served(aggregation: Aggregation, own: object = {}): Promise<Record<string, string>> {
  const a = { url: await telling('a', 'x', 'y'), ...own };
  const gateway = await gatewayTo({ a, b: await telling('b', 'x', 'z') }, { aggregation });
  const client = await SessionClient.open(gateway.url);
  const found: Record<string, string> = {};
  for (const name of await client.toolNames()) {
    const { content } = (await client.call(name)).answer.result as { content: { text: string }[] };
    found[name] = content[0]?.text ?? '';
  }
  return found;
}

describe('the tools of several backends', () => {
  const cases: [name: string, aggregation: Aggregation, expected: Record<string, string>][] = [
    ['have a prefix', {}, { a_x: 'a.x', a_y: 'a.y', b_x: 'b.x', b_z: 'b.z' }],
    [
      'have the prefix that is configured',
      { prefix_format: '{workload}.' },
      { 'a.x': 'a.x', 'a.y': 'a.y', 'b.x': 'b.x', 'b.z': 'b.z' },
    ],
    ['have a prefix only on conflict', { prefix_mode: 'onConflict' }, { a_x: 'a.x', y: 'a.y', b_x: 'b.x', z: 'b.z' }],
    [
      'go by priority',
      { conflict_resolution: 'priority', priority_order: ['b', 'a'] },
      { y: 'a.y', x: 'b.x', z: 'b.z' },
    ],
    [
      'go by the order of the configuration where the priority does not say',
      { conflict_resolution: 'priority' },
      { x: 'a.x', y: 'a.y', z: 'b.z' },
    ],
    ['are dropped where names collide and nobody decides', { conflict_resolution: 'manual' }, { y: 'a.y', z: 'b.z' }],
    [
      'are renamed by hand',
      { conflict_resolution: 'manual', tools: [{ workload: 'b', overrides: { x: { name: 'x2' } } }] },
      { x: 'a.x', y: 'a.y', x2: 'b.x', z: 'b.z' },
    ],
    ['are filtered', { tools: [{ workload: 'a', filter: ['y'] }] }, { a_y: 'a.y', b_x: 'b.x', b_z: 'b.z' }],
    ['are all excluded of one backend', { tools: [{ workload: 'a', exclude_all: true }] }, { b_x: 'b.x', b_z: 'b.z' }],
    ['are all excluded', { exclude_all_tools: true }, {}],
  ];
  it.each(cases)('%s, and each name leads to its tool', async (_name, aggregation, expected) => {
    expect(await served(aggregation)).toEqual(expected);
  });

  it('pass the filter and the renaming of their own backend first', async () => {
    const own = { tools_filter: ['x'], tools_override: { x: { name: 'renamed', description: 'Other' } } };
    expect(await served({}, own)).toEqual({ a_renamed: 'a.x', b_x: 'b.x', b_z: 'b.z' });
  });

  it('reject a call of a filtered tool, in both revisions', async () => {
    const gateway = await gatewayTo(
      { a: await telling('a', 'x', 'y') },
      { aggregation: { tools: [{ workload: 'a', filter: ['y'] }] } },
    );
    const client = await SessionClient.open(gateway.url);
    expect((await client.call('a_x')).answer.error?.code).toBe(-32602);
    expect((await sendModern(gateway.url, 'tools/call', { name: 'a_x' })).answer.error?.code).toBe(-32602);
  });
});

describe("a list that depends on the client's capabilities", () => {
  it('reaches only clients with the same capabilities', async () => {
    const backend = closing(
      await servePlain({
        intercept: (_request, response, body) => {
          const message = JSON.parse(body || '{}') as {
            id?: number;
            method?: string;
            params?: { capabilities?: object };
          };
          const answer = (result: object, headers = {}) => {
            response.writeHead(200, { 'content-type': 'application/json', ...headers });
            response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
            return true;
          };
          if (message.method === 'initialize') {
            const can = 'sampling' in (message.params?.capabilities ?? {}) ? 'sampling' : 'plain';
            const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} };
            return answer(result, { 'mcp-session-id': can });
          }
          if (message.method !== 'tools/list') return false;
          const name = String(_request.headers['mcp-session-id']);
          return answer({ tools: [{ name, inputSchema: { type: 'object' } }] });
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url });
    const [plain, sampling] = [
      await SessionClient.open(gateway.url),
      await SessionClient.open(gateway.url, {}, { sampling: {} }),
    ];
    for (let round = 0; round < 2; round++) {
      expect(await plain.toolNames()).toEqual(['a_plain']);
      expect(await sampling.toolNames()).toEqual(['a_sampling']);
    }
  });
});

describe('a backend error with another HTTP status', () => {
  it.each([401, 403, 409, 500, 503])(
    '%d becomes a JSON-RPC error at 200, or the gateway’s own error',
    async (status) => {
      const backend = closing(
        await servePlain({
          tools: 1,
          intercept: (_request, response, body) => {
            if (!body.includes('"tools/call"')) return false;
            const { id } = JSON.parse(body) as { id: number };
            response.writeHead(status, {
              'content-type': 'application/json',
              'www-authenticate': 'Bearer realm="inner"',
            });
            response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'refused' } }));
            return true;
          },
        }),
      );
      const gateway = await gatewayTo({ a: backend.url });
      const client = await SessionClient.open(gateway.url);
      await client.toolNames();
      for (const reply of [
        await client.call('a_tool_0', { text: 'x' }),
        await sendModern(gateway.url, 'tools/call', { name: 'a_tool_0' }),
      ]) {
        expect([reply.status, reply.headers['www-authenticate']]).toEqual([200, undefined]);
        expect(reply.answer.error).toBeDefined();
      }
    },
  );
});
