import { registerAppResource, registerAppTool } from '@modelcontextprotocol/ext-apps/server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { sendModern, SessionClient, type Reply, type Rpc } from '../gateway/session-client.ts';
import { serveWebHandler } from '../fakes/http/serve-web-handler.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';
import { warningsAt } from './warnings-at.ts';

afterEach(closeAll);

const URI = 'ui://chart/view.html';
const UI = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
const ALIAS = 'ui://second.chart/view.html';

/**
 * Starts an SDK server whose tool `show` has an app, and links the app in its result. `toolsAfter`: answers tools/list
 * only then.
 */
async function serveApp(
  title: string,
  { uri = URI, isListed = true, offers = false, toolsAfter = Promise.resolve() } = {},
): Promise<string> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: title, version: '1' }, offers ? { capabilities: { extensions: UI } } : {});
    registerAppTool(server, 'show', { title, inputSchema: z.object({}), _meta: { ui: { resourceUri: uri } } }, () => ({
      content: [
        { type: 'text', text: `${title} shows "${uri}"` },
        { type: 'resource_link', uri, name: title },
      ],
      _meta: { ui: { resourceUri: uri } },
    }));
    registerAppResource(server, title, uri, {}, () => ({
      contents: [{ uri, mimeType: 'text/html;profile=mcp-app', text: `<p>${title}</p>` }],
    }));
    if (!isListed) server.server.setRequestHandler('resources/list', () => ({ resources: [] }));
    return server;
  });
  const fetch = async (request: Request) => {
    if ((await request.clone().text()).includes('"tools/list"')) await toolsAfter;
    return handler.fetch(request);
  };
  const served = closing(await serveWebHandler(fetch, 0));
  return `http://127.0.0.1:${served.port}/mcp`;
}

type Ask = (method: string, params?: Record<string, unknown>) => Promise<Reply>;

async function asking(url: string, revision: string): Promise<Ask> {
  if (revision === '2026-07-28') return (method, params = {}) => sendModern(url, method, params);
  const client = await SessionClient.open(url);
  return (method, params = {}) => client.request(method, params);
}

const toolsOf = ({ answer }: Reply) =>
  new Map(
    (answer.result?.tools as { name: string; _meta?: object }[]).map(({ name, _meta }) => [name, _meta] as const),
  );
const urisOf = ({ answer }: Reply) => (answer.result?.resources as { uri: string }[]).map(({ uri }) => uri);

describe.each(['2025-11-25', '2026-07-28'])('apps of two backends at one URI (%s)', (revision) => {
  it('gives them URIs of their own in lists, reads and results', async () => {
    const gateway = await gatewayTo({ first: await serveApp('one'), second: await serveApp('two') });
    const ask = await asking(gateway.url, revision);
    const tools = toolsOf(await ask('tools/list'));
    expect(tools.get('first_show')).toMatchObject({ ui: { resourceUri: URI }, 'ui/resourceUri': URI });
    expect(tools.get('second_show')).toMatchObject({ ui: { resourceUri: ALIAS }, 'ui/resourceUri': ALIAS });
    expect(urisOf(await ask('resources/list')).sort()).toEqual([URI, ALIAS].sort());
    for (const [uri, title] of [
      [URI, 'one'],
      [ALIAS, 'two'],
    ] as const) {
      const { answer } = await ask('resources/read', { uri });
      expect(answer.result?.contents).toMatchObject([{ uri, text: `<p>${title}</p>` }]);
    }
    const { answer } = await ask('tools/call', { name: 'second_show', arguments: {} });
    expect(answer.result).toMatchObject({
      content: [{ text: `two shows "${URI}"` }, { type: 'resource_link', uri: ALIAS }],
      _meta: { ui: { resourceUri: ALIAS } },
    });
  });

  it('offers the extension if a backend does', async () => {
    const gateway = await gatewayTo({ first: await serveApp('one', { offers: true }), second: await serveApp('two') });
    const result =
      revision === '2026-07-28'
        ? (await sendModern(gateway.url, 'server/discover')).answer.result
        : (await SessionClient.open(gateway.url)).initialized.result;
    expect(result?.capabilities).toMatchObject({ extensions: UI });
  });

  it('keeps them apart if their backends do not list them', async () => {
    const [first, second] = [await serveApp('one', { isListed: false }), await serveApp('two', { isListed: false })];
    const gateway = await gatewayTo({ first, second });
    const ask = await asking(gateway.url, revision);
    expect(toolsOf(await ask('tools/list')).get('second_show')).toMatchObject({ ui: { resourceUri: ALIAS } });
    expect((await ask('resources/read', { uri: URI })).text).toContain('<p>one</p>');
    expect((await ask('resources/read', { uri: ALIAS })).text).toContain('<p>two</p>');
  });

  it('keeps their URIs if no other backend has them', async () => {
    const gateway = await gatewayTo({ first: await serveApp('one'), second: await serveApp('two', { uri: 'ui://b' }) });
    const ask = await asking(gateway.url, revision);
    expect(toolsOf(await ask('tools/list')).get('second_show')).toMatchObject({ ui: { resourceUri: 'ui://b' } });
    expect((await ask('resources/read', { uri: 'ui://second.b' })).answer.error).toBeDefined();
  });

  it('inserts a script into the app with rewrite_calls, without names that the caller may not see', async () => {
    const overrides = { show: { name: 'present' } };
    const backends = { first: await serveApp('one'), second: await serveApp('two') };
    const read = async (...forbidden: string[]) => {
      const policies = ['permit(principal, action, resource);', ...forbidden];
      const gateway = await gatewayTo(backends, {
        aggregation: { apps: { rewrite_calls: true }, tools: [{ workload: 'first', overrides }] },
        authz: { type: 'cedarv1', policies },
      });
      const ask = await asking(gateway.url, revision);
      const { answer } = await ask('resources/read', { uri: URI });
      return (answer.result?.contents as { text: string }[])[0]?.text;
    };
    expect(await read()).toMatch(/^<script>.*\("first_", {"show":"first_present"}\);<\/script><p>one<\/p>$/s);
    const hidden = await read('forbid(principal, action, resource == Tool::"first_present");');
    expect(hidden).toMatch(/^<script>.*\("first_", {}\);<\/script><p>one<\/p>$/s);
  });

  it('leaves the app out of the tool of a caller who may not read it', async () => {
    const policies = [
      'permit(principal, action, resource);',
      `forbid(principal, action == Action::"read_resource", resource) when { resource.name == "${ALIAS}" };`,
    ];
    const gateway = await gatewayTo(
      { first: await serveApp('one'), second: await serveApp('two') },
      { authz: { type: 'cedarv1', policies } },
    );
    const ask = await asking(gateway.url, revision);
    const tools = toolsOf(await ask('tools/list'));
    expect(tools.get('first_show')).toMatchObject({ ui: { resourceUri: URI } });
    expect(JSON.stringify(tools.get('second_show') ?? {})).not.toContain('resourceUri');
    expect((await ask('resources/read', { uri: ALIAS })).answer.error).toBeDefined();
  });
});

describe('the owner of a URI', () => {
  const isChange = (kind: string) => (message: Rpc) => message.method === `notifications/${kind}/list_changed`;

  it('changes with a notification if a backend before the others has the URI too', async () => {
    const { promise: toolsAfter, resolve: list } = Promise.withResolvers<undefined>();
    const first = await serveApp('one', { isListed: false, toolsAfter });
    const gateway = await gatewayTo({ first, second: await serveApp('two') }, {}, { probed: false });
    const client = await SessionClient.open(gateway.url);
    const stream = closing(await client.stream());
    expect(toolsOf(await client.request('tools/list')).get('second_show')).toMatchObject({ ui: { resourceUri: URI } });
    expect(urisOf(await client.request('resources/list'))).toEqual([URI]);
    list(undefined);
    await stream.waitFor(isChange('tools'));
    await stream.waitFor(isChange('resources'));
    expect(toolsOf(await client.request('tools/list')).get('second_show')).toMatchObject({
      ui: { resourceUri: ALIAS },
    });
    expect(urisOf(await client.request('resources/list'))).toEqual([ALIAS]);
  });
});

describe('the warnings about calls of apps', () => {
  const start = async () => ({ first: await serveApp('one'), second: await serveApp('two') });

  it('name tools that several backends have, except with rewrite_calls', async () => {
    const backends = await start();
    const gateway = await gatewayTo(backends);
    const { warned, notWarned } = warningsAt(gateway);
    await warned(/^apps of second have URIs of another backend, .* ui:\/\/second\.….*: ui:\/\/chart\/view.html; give/);
    await warned(
      /^apps: calls of tools that several backends have are refused: show; set aggregation.apps.rewriteCalls$/,
    );
    await gateway.reconfigure(configTo(backends, { aggregation: { apps: { rewrite_calls: true } } }));
    await notWarned(/^apps: /);
  });

  it('name calls that reach the winner of a name under priority', async () => {
    const aggregation = { conflict_resolution: 'priority' as const, priority_order: ['first', 'second'] };
    const { warned } = warningsAt(await gatewayTo(await start(), { aggregation }));
    await warned(/^apps of second that call a tool of their own reach first instead: show; set aggregation.apps.rew/);
  });
});

describe.each(['2025-11-25', '2026-07-28'])('a call by the own name of a tool (%s)', (revision) => {
  /** Starts an SDK server with these tools; those of `modelOnly` are not for apps. */
  async function serveTools(names: readonly string[], modelOnly: readonly string[] = []): Promise<string> {
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 'tools', version: '1' });
      for (const name of [...names, ...modelOnly]) {
        const visibility = modelOnly.includes(name) ? ['model'] : ['app', 'model'];
        const settings = { inputSchema: z.object({}), _meta: { ui: { visibility } } };
        server.registerTool(name, settings, () => ({ content: [{ type: 'text', text: `ran ${name}` }] }));
      }
      return server;
    });
    const served = closing(await serveWebHandler((request) => handler.fetch(request), 0));
    return `http://127.0.0.1:${served.port}/mcp`;
  }

  async function calling(url: string, capabilities: object) {
    const client = revision === '2026-07-28' ? undefined : await SessionClient.open(url, {}, capabilities);
    return async (name: string) => {
      const params = { name, arguments: {} };
      const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
      return client ? client.request('tools/call', params) : sendModern(url, 'tools/call', { ...params, _meta });
    };
  }

  it('reaches the only tool with that name, for clients that support apps', async () => {
    const [a, b] = [await serveTools(['save', 'both'], ['secret']), await serveTools(['both'])];
    const gateway = await gatewayTo({ a, b });
    const call = await calling(gateway.url, { extensions: UI });
    expect((await call('save')).text).toContain('ran save');
    expect((await call('both')).answer.error).toMatchObject({
      code: -32602,
      message: 'Several tools have this name; call a_both or b_both',
    });
    expect((await call('secret')).answer.error).toMatchObject({ code: -32602, message: 'Unknown tool' });
    expect((await call('absent')).answer.error).toMatchObject({ code: -32602, message: 'Unknown tool' });
    const plain = await calling(gateway.url, {});
    expect((await plain('save')).answer.error).toMatchObject({ code: -32602, message: 'Unknown tool' });
  });

  it('reaches no tool that the caller may not see, and tells nothing of it', async () => {
    const forbid = 'forbid(principal, action, resource == Tool::"b_both");';
    const hide = 'forbid(principal, action, resource == Tool::"a_save");';
    const [a, b] = [await serveTools(['save', 'both']), await serveTools(['both'])];
    const policies = ['permit(principal, action, resource);', forbid, hide];
    const gateway = await gatewayTo({ a, b }, { authz: { type: 'cedarv1', policies } });
    const call = await calling(gateway.url, { extensions: UI });
    expect((await call('both')).answer.error).toMatchObject({ message: 'Several tools have this name; call a_both' });
    expect((await call('save')).answer.error).toMatchObject({ code: -32602, message: 'Unknown tool' });
  });
});
