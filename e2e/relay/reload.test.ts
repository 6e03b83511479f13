import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { followTools } from '../gateway/follow-tools.ts';
import { openStream, send, sendModern, SessionClient, modernRequest, type Rpc } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';
import { serveHeld } from './serve-held.ts';

afterEach(closeAll);

/** Milliseconds for a client's notification and its list. */
const PATIENCE = 10_000;
const toolsChanged = ({ method }: Rpc) => method === 'notifications/tools/list_changed';
const listenTo = (url: string, notifications: object) => {
  const { body, headers } = modernRequest('subscriptions/listen', { notifications });
  return openStream(url, headers, body);
};
const statusOf = async (port: number) =>
  JSON.parse((await send(`http://127.0.0.1:${port}/status`, 'GET', {})).text) as {
    config_refused: { message: string } | null;
    warnings: string[];
  };

describe('a new run configuration', () => {
  it('adds a backend to open sessions, and notifies them', async () => {
    const [a, b] = [closing(await servePlain({ tools: 1 })), closing(await servePlain({ tools: 1 }))];
    const gateway = await gatewayTo({ a: a.url });
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    const knows = await followTools(stream, () => client.toolNames(), PATIENCE);
    await knows('a_tool_0');
    await gateway.reconfigure(configTo({ a: a.url, b: b.url }));
    await knows('a_tool_0', 'b_tool_0');
    expect((await client.call('b_tool_0', { text: 'x' })).answer.result).toBeDefined();
    // The new backend's own notification reaches the older stream.
    b.setTools(2);
    await knows('a_tool_0', 'b_tool_0', 'b_tool_1');
    stream.close();
  });

  it('removes a backend from open sessions, and its tools become unknown', async () => {
    const [a, b] = [closing(await servePlain({ tools: 1 })), closing(await servePlain({ tools: 1 }))];
    const gateway = await gatewayTo({ a: a.url, b: b.url });
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    expect(await client.toolNames()).toHaveLength(2);
    await gateway.reconfigure(configTo({ a: a.url }));
    await stream.waitFor(toolsChanged);
    expect(await client.toolNames()).toEqual(['a_tool_0']);
    expect((await client.call('b_tool_0', { text: 'x' })).answer.error?.code).toBe(-32602);
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    stream.close();
  });

  it('connects an open stream to a moved backend, without a request of its client', async () => {
    const [before, after] = [closing(await servePlain({ tools: 1 })), closing(await servePlain({ tools: 2 }))];
    const gateway = await gatewayTo({ a: before.url });
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    await gateway.reconfigure(configTo({ a: after.url }));
    await stream.waitFor(toolsChanged);
    // The gateway's own notifications are sent by then.
    await sleep(300);
    const changes = () => stream.messages().filter(toolsChanged).length;
    const announced = changes();
    for (let i = 0; i < 100 && changes() === announced; i++) {
      after.setTools(3);
      await sleep(50);
    }
    expect(changes()).toBeGreaterThan(announced);
    stream.close();
  });

  it('moves a backend without losing the session or its stream', async () => {
    const [before, after] = [closing(await servePlain({ tools: 1 })), closing(await servePlain({ tools: 2 }))];
    const gateway = await gatewayTo({ a: before.url });
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    await client.toolNames();
    await gateway.reconfigure(configTo({ a: after.url }));
    await stream.waitFor(toolsChanged);
    expect(await client.toolNames()).toHaveLength(2);
    // Only a notification makes the gateway list again, because a list is valid for a minute.
    for (let i = 0; i < 100 && (await client.toolNames()).length < 3; i++) {
      after.setTools(3);
      await sleep(50);
    }
    expect(await client.toolNames()).toHaveLength(3);
    stream.close();
  });

  it('lets running calls finish at a replaced or removed backend, and then closes it', async () => {
    const [a, b] = [await serveHeld(), await serveHeld()];
    const gateway = await gatewayTo({ a: a.url, b: b.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const calls = [client.call('a_tool_0', { text: 'x' }), client.call('b_tool_0', { text: 'x' })];
    await Promise.all([a.called, b.called]);
    let isAnswered = false;
    const answered = Promise.all(calls).finally(() => (isAnswered = true));
    // The change itself waits for no call.
    await gateway.reconfigure(configTo({ a: a.url }, { limits: { connect_timeout: '4s' } }));
    expect(isAnswered).toBe(false);
    a.finish();
    b.finish();
    for (const { answer } of await answered) expect(answer.result).toBeDefined();
  });

  it('replaces a backend without delaying the end for a call there', async () => {
    const a = closing(await serveMisbehaving('hang', { tools: 1 }));
    const gateway = await gatewayTo({ a: a.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const call = client.call('a_tool_0', { text: 'x' }).catch((error: unknown) => error);
    await until('the call', () => gateway.runtime.gateway.services.running.size === 1);
    await gateway.reconfigure(configTo({ a: a.url }, { limits: { connect_timeout: '4s' } }));
    const started = performance.now();
    await gateway.runtime.stop();
    expect(performance.now() - started).toBeLessThan(15_000);
    await call;
  });

  it('keeps the backend session at an unchanged backend', async () => {
    const [a, b] = [closing(await servePlain({ tools: 1 })), closing(await servePlain({ tools: 1 }))];
    const gateway = await gatewayTo({ a: a.url, b: b.url });
    const client = await SessionClient.open(gateway.url);
    await client.call('a_tool_0', { text: 'x' });
    const opened = a.counts.get('initialize');
    await gateway.reconfigure(configTo({ a: a.url }));
    await client.call('a_tool_0', { text: 'x' });
    expect(a.counts.get('initialize')).toBe(opened);
  });

  it('applies new policies to the next call, and announces changed lists', async () => {
    const a = closing(await servePlain({ tools: 2 }));
    const gateway = await gatewayTo({ a: a.url });
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    expect(await client.toolNames()).toHaveLength(2);
    const policies = ['permit(principal, action, resource == Tool::"a_tool_1");'];
    await gateway.reconfigure(configTo({ a: a.url }, { authz: { policies } }));
    expect((await client.call('a_tool_0', { text: 'x' })).answer.error?.code).toBe(-32602);
    expect((await client.call('a_tool_1', { text: 'x' })).answer.result).toBeDefined();
    await stream.waitFor(toolsChanged);
    expect(await client.toolNames()).toEqual(['a_tool_1']);
    stream.close();
  });

  it('reaches subscriptions of clients without sessions: they get updates of new backends', async () => {
    const [a, b] = [closing(await servePlain({ tools: 1 })), closing(await servePlain({ tools: 1 }))];
    const gateway = await gatewayTo({ a: a.url });
    const stream = await listenTo(gateway.url, { toolsListChanged: true });
    await stream.waitFor(({ method }) => method === 'notifications/subscriptions/acknowledged');
    const names = async () =>
      ((await sendModern(gateway.url, 'tools/list')).answer.result?.tools as { name: string }[]).map(
        ({ name }) => name,
      );
    const knows = await followTools(stream, names, PATIENCE);
    await gateway.reconfigure(configTo({ a: a.url, b: b.url }));
    await knows('a_tool_0', 'b_tool_0');
    await until('the subscription at the new one', () => (b.counts.get('subscriptions/listen') ?? 0) > 0);
    b.setTools(2);
    await knows('a_tool_0', 'b_tool_0', 'b_tool_1');
    stream.close();
  });

  it('ends the updates of a resource that new policies hide', async () => {
    const a = closing(await serveEverything());
    const gateway = await gatewayTo({ a: a.url });
    const uri = 'test://watched-resource';
    const stream = await listenTo(gateway.url, { resourceSubscriptions: [uri] });
    const acknowledged = await stream.waitFor(({ method }) => method?.endsWith('acknowledged') ?? false);
    expect(acknowledged.params?.notifications).toEqual({ resourceSubscriptions: [uri] });
    const update = (content: string) =>
      sendModern(gateway.url, 'tools/call', { name: 'a_test_trigger_resource_update', arguments: { content } });
    const updates = () => stream.messages().filter(({ method }) => method === 'notifications/resources/updated').length;
    await update('one');
    await stream.waitFor(() => updates() === 1);
    const policies = ['permit(principal, action == Action::"call_tool", resource);'];
    await gateway.reconfigure(configTo({ a: a.url }, { authz: { policies } }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await update('two');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(updates()).toBe(1);
    stream.close();
  });

  it('gets a refusal with the reason if it is invalid, and the active one stays', async () => {
    const a = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: a.url });
    const client = await SessionClient.open(gateway.url);
    await gateway.reconfigure(configTo({ a: a.url }, { authz: { policies: ['permit(principal, action resource);'] } }));
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    const status = await statusOf(gateway.runtime.address.privatePort);
    expect(status.config_refused?.message).toMatch(/polic/i);
    expect(status.warnings.join()).toMatch(/an older one is active: .*polic/i);
    expect(gateway.log()).toContain('run configuration refused');
    await gateway.reconfigure(configTo({ a: a.url }));
    expect((await statusOf(gateway.runtime.address.privatePort)).config_refused).toBeNull();
  });

  it('applies the rest of an edit whose audit log cannot be opened', async () => {
    const [a, b] = [closing(await servePlain({ tools: 1 })), closing(await servePlain({ tools: 1 }))];
    const gateway = await gatewayTo({ a: a.url });
    const { privatePort } = gateway.runtime.address;
    const audit_config = { enabled: true, logFile: '/none/audit.log' };
    await gateway.reconfigure(configTo({ a: a.url, b: b.url }, { audit_config }));
    expect(await (await SessionClient.open(gateway.url)).toolNames()).toEqual(['a_tool_0', 'b_tool_0']);
    const { config_refused: refused, warnings } = await statusOf(privatePort);
    expect(refused).toBeNull();
    expect(warnings.join()).toMatch(/audit log \/none\/audit\.log: its folder does not exist.* former audit log stays/);
    await gateway.reconfigure(configTo({ a: a.url, b: b.url }));
    expect((await statusOf(privatePort)).warnings.join()).not.toMatch(/audit log/);
  });

  it('gets a refusal that names the field if it would listen elsewhere', async () => {
    const a = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: a.url });
    await gateway.reconfigure({ ...configTo({}), listen: { port: 0, private_port: 0, host: '127.0.0.2' } });
    const { config_refused: refused } = await statusOf(gateway.runtime.address.privatePort);
    expect(refused?.message).toMatch(/listen has changed/);
    expect(await (await SessionClient.open(gateway.url)).toolNames()).toEqual(['a_tool_0']);
  });
});

describe('a changed secret file', () => {
  it('supplies the next call in the same session', async () => {
    const seen: unknown[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, _response, body) => {
          if (body.includes('tools/call')) seen.push(request.headers['x-key']);
          return false;
        },
      }),
    );
    const auth = { type: 'header_injection' as const, header_name: 'X-Key', value_file: 'key' };
    const gateway = await gatewayTo({ a: { url: backend.url, auth } }, {}, { files: { key: 'old\n' } });
    const client = await SessionClient.open(gateway.url);
    await client.call('a_tool_0', { text: 'x' });
    await writeFile(join(gateway.folder, 'key'), 'new\n');
    for (let i = 0; i < 100 && seen.at(-1) !== 'new'; i++) {
      await client.call('a_tool_0', { text: 'x' });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(seen[0]).toBe('old');
    expect(seen.at(-1)).toBe('new');
  });
});
