import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer } from '../sdk-servers/start-sdk-server.ts';

const open: { close(): Promise<void> | void }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const permitAll = 'permit(principal, action, resource);';
const only = (name: string) => `permit(principal, action, resource == Tool::"${name}");`;

describe("a backend's own policies and the server's", () => {
  it.each([
    ['the server permits one, the backend all', [only('a_tool_0')], [permitAll], ['a_tool_0']],
    ['the server permits all, the backend one', [permitAll], [only('tool_1')], ['a_tool_1']],
    ['each permits another', [only('a_tool_0')], [only('tool_1')], []],
  ])('must both allow: %s', async (_case, server, own, visible) => {
    const backend = await servePlain({ tools: 2 });
    open.push(backend);
    const gateway = await serveGateway({
      incoming: { type: 'anonymous' },
      authz: { policies: server },
      backends: [{ name: 'a', transport: 'streamable-http', url: backend.url, authz: { policies: own } }],
    });
    open.push(gateway);
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual(visible);
    for (const name of ['a_tool_0', 'a_tool_1']) {
      const { answer } = await client.call(name, { text: 'x' });
      expect(answer.result !== undefined).toBe(visible.includes(name));
    }
  });
});

describe("a change of a backend's own policies", () => {
  it('changes the lists of open sessions, also if it is the only change', async () => {
    const [a, b] = [await servePlain({ tools: 2 }), await servePlain({ tools: 2 })];
    open.push(a, b);
    const configWith = (policies: string[]) => ({
      incoming: { type: 'anonymous' } as const,
      authz: { policies: [permitAll] },
      backends: [
        { name: 'a', transport: 'streamable-http' as const, url: a.url, authz: { policies } },
        { name: 'b', transport: 'streamable-http' as const, url: b.url },
      ],
    });
    const gateway = await serveGateway(configWith([permitAll]));
    open.push(gateway);
    const client = await SessionClient.open(gateway.url);
    const seen = [await client.toolNames()];
    for (const policies of [[only('tool_1')], [permitAll]]) {
      await gateway.reconfigure(configWith(policies));
      seen.push(await client.toolNames());
    }
    const all = ['a_tool_0', 'a_tool_1', 'b_tool_0', 'b_tool_1'];
    expect(seen).toEqual([all, all.slice(1), all]);
  });
});

/** Returns the backend `pol` with these policies of its own. */
async function withOwnPolicies(policies: string[]): Promise<RunConfigDocument['backends'][number]> {
  const server = await startSdkServer('new');
  open.push({ close: () => server.stop() });
  const tools_override = { progress: { name: 'advance' } };
  return { name: 'pol', transport: 'streamable-http', url: server.url, tools_override, authz: { policies } };
}

/** The two endpoints that offer a backend: its own, and that of a group with the default prefix. */
const ENDPOINTS: Record<string, NonNullable<RunConfigDocument['aggregation']>> = {
  'its own endpoint': { conflict_resolution: 'priority', priority_order: ['pol'] },
  'the endpoint of its group': {},
};

async function clientAt(place: string, backend: RunConfigDocument['backends'][number], server = [permitAll]) {
  const incoming = { type: 'anonymous' } as const;
  const aggregation = ENDPOINTS[place] ?? {};
  const gateway = await serveGateway({ incoming, aggregation, backends: [backend], authz: { policies: server } });
  open.push(gateway);
  const url = new URL(gateway.url);
  const old = await connectOldClient(url);
  const modern = await connectNewClient(url, { revision: '2026-07-28' });
  open.push(old, modern);
  const prefix = place === 'its own endpoint' ? '' : 'pol_';
  return { clients: [old, modern], old, nameOf: (name: string) => prefix + name };
}

describe.each(Object.keys(ENDPOINTS))("a backend's own policies at %s", (place) => {
  it('refuse a tool by its name at its own endpoint, in calls and in lists', async () => {
    const forbids = ['echo', 'advance'].map((name) => `forbid(principal, action, resource == Tool::"${name}");`);
    const { clients, nameOf } = await clientAt(place, await withOwnPolicies([permitAll, ...forbids]));
    for (const client of clients) {
      const { tools } = await client.listTools();
      const names = tools.map(({ name }) => name);
      expect(names).toContain(nameOf('fail'));
      for (const hidden of ['echo', 'advance', 'progress']) {
        expect(names).not.toContain(nameOf(hidden));
        const call = client.callTool({ name: nameOf(hidden), arguments: { text: 'x', steps: 0, every: 0 } });
        await expect(call).rejects.toMatchObject({ code: -32602 });
      }
      expect(await client.callTool({ name: nameOf('fail'), arguments: {} })).toMatchObject({ isError: true });
    }
  });

  it('decide by arguments and by the attribute name', async () => {
    const forbid = 'forbid(principal, action, resource) when { resource.name == "echo" && context.arg_text == "no" };';
    const { clients, nameOf } = await clientAt(place, await withOwnPolicies([permitAll, forbid]));
    for (const client of clients) {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain(nameOf('echo'));
      const refused = client.callTool({ name: nameOf('echo'), arguments: { text: 'no' } });
      await expect(refused).rejects.toMatchObject({ code: 403 });
      const allowed = await client.callTool({ name: nameOf('echo'), arguments: { text: 'yes' } });
      expect(allowed).toMatchObject({ content: [{ text: 'yes' }] });
    }
  });

  it('refuse prompts and resources', async () => {
    const forbids = ['Prompt::"greet"', 'Resource::"sdk://one"'].map(
      (one) => `forbid(principal, action, resource == ${one});`,
    );
    const { clients, nameOf } = await clientAt(place, await withOwnPolicies([permitAll, ...forbids]));
    for (const client of clients) {
      expect((await client.listPrompts()).prompts).toEqual([]);
      const prompt = client.getPrompt({ name: nameOf('greet'), arguments: { name: 'Ada' } });
      await expect(prompt).rejects.toMatchObject({ code: -32602 });
      expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(['sdk://two']);
      await expect(client.readResource({ uri: 'sdk://one' })).rejects.toThrow();
      expect((await client.readResource({ uri: 'sdk://two' })).contents).toMatchObject([{ text: 'resource two' }]);
    }
  });
});

describe('a URI in another spelling', () => {
  it.each([
    ['the server', ['Resource::"sdk://one"', 'Resource::"sdk://items/7"'], []],
    ['the backend', [], ['Resource::"sdk://one"', 'Resource::"sdk://items/7"']],
  ])('does not circumvent policies of %s', async (_whose, server, own) => {
    const forbid = (names: string[]) => names.map((name) => `forbid(principal, action, resource == ${name});`);
    const backend = await withOwnPolicies([permitAll, ...forbid(own)]);
    const { clients } = await clientAt('the endpoint of its group', backend, [permitAll, ...forbid(server)]);
    for (const client of clients) {
      for (const uri of ['SDK://one', 'sdk://o\nne', 'sdk://items/%37', 'Sdk://items/7'])
        await expect(client.readResource({ uri })).rejects.toThrow();
      for (const uri of ['SDK://two', 'sdk://items/%38'])
        expect((await client.readResource({ uri })).contents).toHaveLength(1);
    }
  });
});

describe('an unlisted URI', () => {
  const at = async (policies: string[]) =>
    clientAt('the endpoint of its group', await withOwnPolicies([permitAll]), [permitAll, ...policies]);

  it.each([
    ['a condition reads arguments', 'resource == Resource::"sdk://one" && !(context has arg_reason)'],
    ['a policy names an escape', 'resource == Resource::"sdk://items/%7e"'],
  ])('stays forbidden in another spelling if %s', async (_case, condition) => {
    const { clients } = await at([`forbid(principal, action, resource) when { ${condition} };`]);
    for (const client of clients) {
      const uri = condition.includes('one') ? 'SDK://one' : 'SDK://items/%7e';
      await expect(client.readResource({ uri })).rejects.toThrow();
      expect((await client.readResource({ uri: 'SDK://items/8' })).contents).toHaveLength(1);
    }
  });

  it('counts as unknown beyond 8,192 characters', async () => {
    const { clients } = await at([]);
    for (const client of clients)
      await expect(client.readResource({ uri: `sdk://${'é'.repeat(8_200)}` })).rejects.toThrow('Unknown resource');
  });
});

describe('the two policy sets of a call', () => {
  it('each see the names and hints of their own endpoint', async () => {
    const backend = await withOwnPolicies([only('echo')]);
    const { old } = await clientAt('the endpoint of its group', backend, [only('pol_echo'), only('pol_fail')]);
    expect((await old.listTools()).tools.map(({ name }) => name)).toEqual(['pol_echo']);
    await expect(old.callTool({ name: 'pol_fail', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it("keep a list private if a backend's own policies filter it", async () => {
    const server = await serveEverything();
    open.push(server);
    const backend = { name: 'pol', transport: 'streamable-http' as const, url: server.url };
    const authz = { policies: [permitAll] };
    const gateway = await serveGateway({ incoming: { type: 'anonymous' }, backends: [{ ...backend, authz }] });
    open.push(gateway);
    const client = await connectNewClient(new URL(gateway.url), { revision: '2026-07-28' });
    open.push(client);
    expect(await client.listTools()).toMatchObject({ cacheScope: 'private' });
  });
});

describe('passthrough_headers', () => {
  it("passes the named headers on, and never the caller's credential", async () => {
    const seen: Record<string, unknown>[] = [];
    const backend = await servePlain({
      tools: 1,
      intercept: (request, _response, body) => {
        if (body.includes('tools/call')) seen.push(request.headers);
        return false;
      },
    });
    open.push(backend);
    const gateway = await serveGateway({
      incoming: { type: 'anonymous' },
      backends: [{ name: 'a', transport: 'streamable-http', url: backend.url }],
      passthrough_headers: ['X-Tenant', 'Authorization'],
    });
    open.push(gateway);
    const client = await SessionClient.open(gateway.url);
    const headers = { ...client.headers, 'x-tenant': 'blue', 'x-other': 'no', authorization: 'Bearer of-the-caller' };
    await send(
      gateway.url,
      'POST',
      headers,
      client.message('tools/call', { name: 'a_tool_0', arguments: { text: 'x' } }),
    );
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ 'x-tenant': 'blue' });
    expect(seen[0]).not.toHaveProperty('x-other');
    expect(seen[0]).not.toHaveProperty('authorization');
  });
});
