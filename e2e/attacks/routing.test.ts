import { afterEach, describe, expect, it } from '@jest/globals';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveFake } from '../fakes/mcp/serve.ts';
import { send, sendModern, SessionClient, modernRequest, type Reply } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { protectedGateway } from './protected-gateway.ts';

afterEach(closeAll);

const toolNames = ({ answer }: Reply) => ((answer.result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
/** Returns the parts of an answer that a client sees, without those that differ by time and connection. */
const visible = ({ status, headers, text }: Reply, name: string) => {
  const differing = ['date', 'x-request-id', 'content-length'];
  const others = Object.entries(headers).filter(([header]) => !differing.includes(header));
  return { status, headers: others, text: text.replaceAll(name, 'NAME') };
};

describe('an item that a policy hides from the caller', () => {
  const policies = [
    'permit(principal, action, resource) unless { resource.name like "*simple*" || resource.name like "test://static-t*" };',
  ];

  it('gets the same bytes as an unknown item: tools, prompts, resources, completion, in all revisions', async () => {
    const backend = closing(await serveEverything());
    const gateway = await gatewayTo({ a: backend.url }, { authz: { policies } });
    const pairs: [method: string, hidden: object, unknown: object][] = [
      ['tools/call', { name: 'a_test_simple_text' }, { name: 'a_test_nothing_here' }],
      ['tools/call', { name: 'A_TEST_SIMPLE_TEXT' }, { name: 'A_TEST_NOTHING_HERE' }],
      ['tools/call', { name: 'test_simple_text' }, { name: 'test_nothing_text' }],
      ['prompts/get', { name: 'a_test_simple_prompt' }, { name: 'a_test_nothing_prompt' }],
      ['resources/read', { uri: 'test://static-text' }, { uri: 'test://static-text/none' }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'a_test_simple_prompt' }, argument: { name: 'x', value: '' } },
        { ref: { type: 'ref/prompt', name: 'a_test_nothing_prompt' }, argument: { name: 'x', value: '' } },
      ],
    ];
    const session = await SessionClient.open(gateway.url);
    const nameIn = (params: object): string =>
      Object.values(params)
        .map((value: unknown) => (typeof value === 'object' && value !== null ? nameIn(value) : String(value)))
        .find((text) => /[_/]/.test(text) && !text.startsWith('ref/')) ?? '';
    for (const [method, hidden, unknown] of pairs) {
      const [a, b] = [hidden, unknown].map((params) =>
        send(gateway.url, 'POST', session.headers, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
      );
      if (a && b) {
        expect((await a).answer.error).toBeDefined();
        expect(visible(await a, nameIn(hidden))).toEqual(visible(await b, nameIn(unknown)));
      }
      const [c, d] = [hidden, unknown].map((params) =>
        sendModern(gateway.url, method, params as Record<string, unknown>),
      );
      if (c && d) expect(visible(await c, nameIn(hidden))).toEqual(visible(await d, nameIn(unknown)));
    }
    expect(await session.toolNames()).not.toContain('a_test_simple_text');
    expect(await session.toolNames()).toContain('a_test_error_handling');
  });

  it('allows no subscription', async () => {
    const backend = closing(await serveEverything());
    const gateway = await gatewayTo({ a: backend.url }, { authz: { policies } });
    const session = await SessionClient.open(gateway.url);
    const { answer } = await session.request('resources/subscribe', { uri: 'test://static-text' });
    expect(answer.error?.code).toBe(-32002);
  });

  it('stays hidden from one caller while another sees it, in any order of requests', async () => {
    const at = await protectedGateway({
      config: {
        authz: {
          policies: [
            'permit(principal in Group::"writers", action, resource);',
            'permit(principal, action, resource == Tool::"a_tool_0");',
          ],
        },
      },
    });
    const clientOf = async (claims: Record<string, unknown>) =>
      SessionClient.open(at.gateway.url, await at.bearer(claims));
    const [alice, bob] = [await clientOf({ groups: ['writers'] }), await clientOf({ sub: 'bob' })];
    for (let round = 0; round < 2; round++) {
      expect(await alice.toolNames()).toEqual(['a_tool_0', 'a_tool_1']);
      expect(await bob.toolNames()).toEqual(['a_tool_0']);
    }
    expect((await bob.call('a_tool_1', { text: 'x' })).answer.error?.code).toBe(-32602);
    const listed = await sendModern(at.gateway.url, 'tools/list', {}, await at.bearer({ sub: 'bob' }));
    expect(listed.answer.result).toMatchObject({ cacheScope: 'private' });
    expect(toolNames(listed)).toEqual(['a_tool_0']);
  });

  it('depends on the groups in the current token, not in an older token of the same caller', async () => {
    const at = await protectedGateway({
      config: { authz: { policies: ['permit(principal in Group::"writers", action, resource);'] } },
    });
    const list = async (claims: Record<string, unknown>) =>
      toolNames(await sendModern(at.gateway.url, 'tools/list', {}, await at.bearer(claims)));
    expect(await list({ groups: ['writers'] })).toHaveLength(2);
    expect(await list({ groups: [] })).toEqual([]);
    expect(await list({ groups: ['writers'] })).toHaveLength(2);
  });
});

describe('the policies', () => {
  it('normalise claims of any shape, and deny if evaluation fails', async () => {
    const at = await protectedGateway({
      config: {
        authz: {
          policies: [
            'permit(principal, action, resource) when { principal has claim_level && principal.claim_level > 3 };',
            '@id("odd") forbid(principal, action, resource) when { principal.claim_tenant == "evil" };',
          ],
        },
      },
    });
    const ask = async (claims: Record<string, unknown>) => {
      const reply = await sendModern(at.gateway.url, 'tools/call', { name: 'a_tool_0' }, await at.bearer(claims));
      return reply.answer.result ? 'allowed' : 'refused';
    };
    expect(await ask({ level: 5, tenant: 'good' })).toBe('allowed');
    expect(await ask({ level: 5, tenant: 'evil' })).toBe('refused');
    // The forbid policy reads a missing claim: its evaluation fails, so the runtime denies.
    expect(await ask({ level: 5 })).toBe('refused');
    for (const odd of [
      { __entity: { type: 'Group', id: 'admins' } },
      { __extn: { fn: 'decimal', arg: '1.0' } },
      null,
      [null, {}],
      1.5,
    ]) {
      expect([odd, await ask({ level: odd, tenant: 'good' })]).toEqual([odd, 'refused']);
      expect([odd, await ask({ level: 5, tenant: 'good', extra: odd })]).toEqual([odd, 'allowed']);
    }
    const large = Array.from({ length: 5_000 }, (_, index) => index);
    expect(await ask({ level: 5, tenant: 'good', extra: large })).toBe('refused');
  });

  it('read the same arguments as the backend', async () => {
    const bodies: string[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, _response, body) => {
          if (body.includes('tools/call')) bodies.push(body);
          return false;
        },
      }),
    );
    const policies = [
      'permit(principal, action, resource) when { context has arg_text && context.arg_text == "safe" };',
    ];
    const gateway = await gatewayTo({ a: backend.url }, { authz: { policies } });
    const client = await SessionClient.open(gateway.url);
    const call = (args: string) =>
      send(
        gateway.url,
        'POST',
        client.headers,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_tool_0","arguments":${args}}}`,
      );
    expect((await call('{"text":"safe"}')).answer.result).toBeDefined();
    expect((await call('{"text":"evil"}')).answer.error?.code).toBe(403);
    expect((await call('{"text":"safe","text":"evil"}')).status).toBe(400);
    expect((await call('{"text":"safe","te\\u0078t":"evil"}')).status).toBe(400);
    expect((await call('{"text":"safe","deep":{"a":1,"a":2}}')).status).toBe(400);
    expect(bodies.join()).not.toContain('evil');
  });

  it('name in a denial the policy that denied, and its advice', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const policies = [
      'permit(principal, action, resource);',
      '@id("office-hours") @advice("Try again tomorrow") forbid(principal, action, resource) when { context has arg_text && context.arg_text == "x" };',
    ];
    const gateway = await gatewayTo({ a: backend.url }, { authz: { policies } });
    const client = await SessionClient.open(gateway.url);
    const { status, answer } = await client.call('a_tool_0', { text: 'x' });
    expect([status, answer.error?.code]).toEqual([200, 403]);
    expect(answer.error?.data).toMatchObject({ policy: { id: 'office-hours', advice: 'Try again tomorrow' } });
  });
});

describe('the header check of revision 2026-07-28', () => {
  const cases: [name: string, headers: Record<string, string>, code: number][] = [
    ['a name that is not the body’s', { 'mcp-name': 'a_tool_1' }, -32020],
    ['a name in another case', { 'mcp-name': 'A_TOOL_0' }, -32020],
    ['the backend’s own name', { 'mcp-name': 'tool_0' }, -32020],
    ['a broken base64 name', { 'mcp-name': '=?base64?***?=' }, -32020],
    ['another method', { 'mcp-method': 'tools/list' }, -32020],
    ['another version', { 'mcp-protocol-version': '2025-11-25' }, -32020],
  ];
  it.each(cases)('refuses %s before any policy or backend', async (_name, headers, code) => {
    const backend = closing(await servePlain({ tools: 2 }));
    const gateway = await gatewayTo({ a: backend.url });
    const reply = await sendModern(gateway.url, 'tools/call', { name: 'a_tool_0', arguments: { text: 'x' } }, headers);
    expect([reply.status, reply.answer.error?.code]).toEqual([400, code]);
    expect(backend.counts.get('tools/call')).toBeUndefined();
  });

  it('accepts the name in Base64, and sends the backend its own name', async () => {
    const seen: unknown[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, _response, body) => {
          if (body.includes('tools/call')) seen.push([request.headers['mcp-name'], request.headers['mcp-method']]);
          return false;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url });
    const name = `=?base64?${Buffer.from('a_tool_0').toString('base64')}?=`;
    const { answer } = await sendModern(gateway.url, 'tools/call', { name: 'a_tool_0' }, { 'mcp-name': name });
    expect(answer.result).toBeDefined();
    expect(seen).toEqual([['tool_0', 'tools/call']]);
  });

  it('refuses missing headers and unsupported versions as the revision requires', async () => {
    const gateway = await gatewayTo({ a: closing(await servePlain({ tools: 1 })).url });
    const { body, headers } = modernRequest('tools/call', { name: 'a_tool_0' });
    for (const missing of ['mcp-name', 'mcp-method', 'mcp-protocol-version']) {
      const others = Object.entries(headers).filter(([header]) => header !== missing);
      expect((await send(gateway.url, 'POST', Object.fromEntries(others), body)).answer.error?.code).toBe(-32020);
    }
    const future = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const reply = await sendModern(
      gateway.url,
      'tools/list',
      { _meta: future },
      { 'mcp-protocol-version': '2099-01-01' },
    );
    expect([reply.status, reply.answer.error]).toMatchObject([
      400,
      { code: -32022, data: { supported: expect.arrayContaining(['2026-07-28']), requested: '2099-01-01' } },
    ]);
    const unknown = await sendModern(gateway.url, 'tools/destroy');
    expect([unknown.status, unknown.answer.error?.code]).toEqual([404, -32601]);
  });
});

describe('the names of tools', () => {
  const named = async (...names: string[]) =>
    closing(
      await serveFake({
        name: 'named',
        tools: () => names.map((name) => ({ name, description: name, inputSchema: { type: 'object' } })),
        call: () => '{"content":[]}',
      }),
    ).url;

  it('drop out on both sides if two backends compose the same one, and status and log report it', async () => {
    const gateway = await gatewayTo({ a_b: await named('c', 'own'), a: await named('b_c', 'own') });
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual(['a_b_own', 'a_own']);
    expect((await client.call('a_b_c')).answer.error?.code).toBe(-32602);
    const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
    const said = expect.stringMatching(/a_b_c.*c of a_b and b_c of a/);
    expect((JSON.parse(text) as { warnings: string[] }).warnings).toContainEqual(said);
    expect(gateway.log()).toContain('names collide');
  });

  it('do not depend on other backends', async () => {
    const [one, two] = [await named('x'), await named('x')];
    const alone = await SessionClient.open((await gatewayTo({ one })).url);
    const together = await SessionClient.open((await gatewayTo({ one, two })).url);
    expect(await alone.toolNames()).toEqual(['one_x']);
    expect(await together.toolNames()).toEqual(['one_x', 'two_x']);
  });

  it('become short if they are too long, lead to their tool, and stay the same', async () => {
    const long = 'x'.repeat(100);
    const url = await named(long);
    const names = [];
    for (let i = 0; i < 2; i++) {
      const client = await SessionClient.open((await gatewayTo({ a: url })).url);
      const [name = ''] = await client.toolNames();
      names.push(name);
      expect(name).toHaveLength(60);
      expect((await client.call(name)).answer.result).toBeDefined();
      expect((await client.call(`a_${long}`)).answer.error).toBeDefined();
    }
    expect(new Set(names).size).toBe(1);
  });
});
