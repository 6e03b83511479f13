import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import type { AuditLine } from '#crds/parts/audit-line';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { sessionLogId } from '#runtime/mcp/sessions/session-log-id';
import { send, sendModern, SessionClient } from '../gateway/session-client.ts';
import { auditLinesIn } from '../gateway/audit-lines.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const AUDIT = { audit_config: { enabled: true } };

const eventsOf = (gateway: ServedGateway) => auditLinesIn(gateway.log());

/** Waits for events of this type, and returns them. */
async function ofType(gateway: ServedGateway, type: string): Promise<AuditLine[]> {
  const found = () => eventsOf(gateway).filter((event) => event.type === type);
  await until(`an event ${type}`, () => found().length > 0);
  return found();
}

const COMPLETION = {
  ref: { type: 'ref/prompt', name: 'a_test_prompt_with_arguments' },
  argument: { name: 'arg1', value: 'par' },
};
const ARGUMENTS = { arg1: 'x', arg2: 'y' };

/** Requests with the type of their event and its target. */
const ASKED: readonly (readonly [method: string, params: Record<string, unknown>, type: string, target: object])[] = [
  ['tools/list', {}, 'mcp_tools_list', {}],
  ['tools/call', { name: 'a_test_simple_text' }, 'mcp_tool_call', { type: 'tool', name: 'a_test_simple_text' }],
  ['resources/list', {}, 'mcp_resources_list', {}],
  [
    'resources/read',
    { uri: 'test://static-text' },
    'mcp_resource_read',
    { type: 'resource', name: 'test://static-text' },
  ],
  ['prompts/list', {}, 'mcp_prompts_list', {}],
  [
    'prompts/get',
    { name: 'a_test_prompt_with_arguments', arguments: ARGUMENTS },
    'mcp_prompt_get',
    { type: 'prompt', name: 'a_test_prompt_with_arguments' },
  ],
  ['completion/complete', COMPLETION, 'mcp_completion', {}],
];

describe('the audit log of requests', () => {
  const start = async () => gatewayTo({ a: closing(await serveEverything()).url }, AUDIT);

  it.each(ASKED)('records %s, with a session and without', async (method, params, type, target) => {
    const gateway = await start();
    const client = await SessionClient.open(gateway.url);
    expect((await client.request(method, params)).answer).toMatchObject({ result: {} });
    expect((await sendModern(gateway.url, method, params)).answer).toMatchObject({ result: {} });
    await until('both events', () => eventsOf(gateway).filter((event) => event.type === type).length === 2);
    const about = { outcome: 'success', target: { endpoint: '/mcp', method, ...target } };
    const revisions = eventsOf(gateway).filter((event) => event.type === type);
    expect(revisions).toMatchObject([about, about]);
    expect(revisions.map(({ metadata: { revision } }) => revision)).toEqual(['2025-11-25', '2026-07-28']);
  });

  it("records the requested path and the client's transport", async () => {
    const url = closing(await serveEverything()).url;
    const gateway = await gatewayTo({ a: url }, { ...AUDIT, proxy_mode: 'sse', endpoint_prefix: '/team' });
    const client = new Client({ name: 'old', version: '1' });
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the old transport is what is served here
    await client.connect(new SSEClientTransport(new URL(`${gateway.origin}/team/sse`)));
    closing(client);
    await client.listTools();
    await sendModern(`${gateway.origin}/team/mcp`, 'prompts/list');
    const of = (endpoint: string, transport: string) => ({ target: { endpoint }, metadata: { transport } });
    expect(await ofType(gateway, 'mcp_tools_list')).toMatchObject([of('/team/messages', 'sse')]);
    expect(await ofType(gateway, 'mcp_prompts_list')).toMatchObject([of('/team/mcp', 'streamable-http')]);
    expect(gateway.log()).not.toContain('sessionId=');
  });

  it('records initialize with the client, ping, a notification, and the end of a session', async () => {
    const gateway = await start();
    const client = await SessionClient.open(gateway.url);
    const [initialize] = await ofType(gateway, 'mcp_initialize');
    expect(initialize).toMatchObject({ outcome: 'success', subjects: { client_name: expect.any(String) } });
    expect(initialize?.metadata.session).toBe(sessionLogId(client.headers['mcp-session-id'] ?? ''));
    await client.request('ping');
    expect(await ofType(gateway, 'mcp_ping')).toMatchObject([{ outcome: 'success' }]);
    await client.notify('notifications/cancelled', { requestId: 1 });
    await until('the notification', () =>
      eventsOf(gateway).some(({ type, target }) => type === 'mcp_notification' && target.method?.endsWith('cancelled')),
    );
    await send(gateway.url, 'DELETE', client.headers);
    expect(await ofType(gateway, 'http_request')).toMatchObject([{ outcome: 'success', target: { method: 'DELETE' } }]);
  });
});

describe('the audit log of decisions', () => {
  const POLICIES = [
    `@id("tools-for-all") permit(principal, action == Action::"call_tool", resource);`,
    `@id("no-errors") forbid(principal, action, resource == Tool::"a_test_error_handling");`,
    `@id("no-static") forbid(principal, action, resource == Resource::"test://static-text");`,
  ];
  const start = async () =>
    gatewayTo({ a: closing(await serveEverything()).url }, { authz: { policies: POLICIES }, ...AUDIT });

  it.each([
    ['tools/call', { name: 'a_test_error_handling' }, [{ id: 'no-errors' }]],
    ['prompts/get', { name: 'a_test_simple_prompt' }, []],
    ['completion/complete', { ...COMPLETION, ref: { type: 'ref/prompt', name: 'a_test_simple_prompt' } }, []],
  ])('names the backend and the policy that hide the entry from %s', async (method, params, policies) => {
    const gateway = await start();
    const client = await SessionClient.open(gateway.url);
    const renamed = JSON.parse(JSON.stringify(params).replace(/a_test_\w+/, 'absent')) as object;
    const hidden = (await client.request(method, params)).answer;
    const absent = (await client.request(method, { ...renamed })).answer;
    const withoutName = (answer: unknown) => JSON.stringify(answer).replaceAll(/"id":\d+/g, '');
    expect(withoutName(hidden)).toBe(withoutName(absent));
    const asked = () => eventsOf(gateway).filter(({ target }) => target.method === method);
    await until('both events', () => asked().length === 2);
    const [ofHidden, ofAbsent] = asked();
    const name = 'name' in params ? params.name : params.ref.name;
    expect(ofHidden).toMatchObject({ outcome: 'denied', target: { name, backend: 'a' }, data: { policies } });
    expect(ofHidden?.data?.code).toBe('unknown_name');
    expect(ofAbsent).toMatchObject({ outcome: 'denied', target: { name: 'absent' } });
    expect(ofAbsent?.target.backend).toBeUndefined();
    expect(ofAbsent?.data).toEqual({ code: 'unknown_name' });
  });

  it.each(['resources/read', 'resources/subscribe'])(
    'names the policy that hides a resource from %s',
    async (method) => {
      const gateway = await start();
      const client = await SessionClient.open(gateway.url);
      await client.request(method, { uri: 'test://static-text' });
      const asked = () => eventsOf(gateway).filter(({ target }) => target.method === method);
      await until('the event', () => asked().length === 1);
      const target = { type: 'resource', name: 'test://static-text', backend: 'a' };
      expect(asked()).toMatchObject([{ outcome: 'denied', target, data: { policies: [{ id: 'no-static' }] } }]);
    },
  );

  it('names the policies that permit a call, of the server and of the backend', async () => {
    const url = closing(await serveEverything()).url;
    const own = { policies: [`@id("backend-open") permit(principal, action, resource);`] };
    const gateway = await gatewayTo({ a: { url, authz: own } }, { authz: { policies: POLICIES }, ...AUDIT });
    await sendModern(gateway.url, 'tools/call', { name: 'a_test_simple_text' });
    const policies = [{ id: 'tools-for-all' }, { id: 'backend-open' }];
    expect(await ofType(gateway, 'mcp_tool_call')).toMatchObject([{ outcome: 'success', data: { policies } }]);
  });
});

describe('the audit log of changes', () => {
  it('records new policies, a new configuration and a refused one', async () => {
    const backends = { a: closing(await servePlain({ tools: 1 })).url };
    const deciding = (policy: string) => ({ authz: { policies: [policy] }, ...AUDIT });
    const gateway = await gatewayTo(backends, deciding('permit(principal, action, resource);'));
    const changed = deciding('forbid(principal, action, resource);');
    expect(eventsOf(gateway).filter(({ type }) => type === 'policy_reloaded')).toEqual([]);
    await gateway.reconfigure(configTo(backends, changed));
    expect(await ofType(gateway, 'policy_reloaded')).toMatchObject([{ outcome: 'success' }]);
    const [first] = await ofType(gateway, 'config_reloaded');
    expect(first).toMatchObject({ outcome: 'success' });
    await gateway.reconfigure(configTo(backends, { ...changed, listen: { port: 1, private_port: 0 } }));
    await until('the refusal', () =>
      eventsOf(gateway).some(({ type, outcome }) => type === 'config_reloaded' && outcome === 'failure'),
    );
  });
});
