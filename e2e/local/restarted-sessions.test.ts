import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand } from '../sdk-servers/start-sdk-server.ts';
import { server } from './manifests.ts';
import { eventually, makeWorkplace, type Workplace } from './run-vmcp.ts';

const UP = ['up', 'manifests', '--detach', '--timeout', '60s'];
const RUNTIME = 'vmcp-demo';
const DATABASE = '.vmcp/logins/default/demo/sessions.sqlite';

let place: Workplace;
let port: number;

/** Returns a server made with an official SDK as a workload. */
function workload(name: string, { command, args }: { command: string; args: string[] }, more: string): string {
  return `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: ${name}}
spec:
  groupRef: demo
  command: ${JSON.stringify([command, ...args])}
${more}`;
}

beforeAll(async () => {
  place = makeWorkplace();
  port = await findFreePort();
  const [http, events] = [await findFreePort(), await findFreePort()];
  place.manifest('server.yaml', server('demo', port));
  const over = (transport: 'http' | 'sse', at: number) => sdkServerCommand('old', { transport, port: at });
  place.manifest(
    'http.yaml',
    workload('http', over('http', http), `  transport: streamable-http\n  mcpPort: ${http}\n`),
  );
  place.manifest(
    'events.yaml',
    workload('events', over('sse', events), `  transport: sse\n  path: /mcp\n  mcpPort: ${events}\n`),
  );
  place.manifest('shared.yaml', workload('shared', sdkServerCommand('new'), ''));
  place.manifest('own.yaml', workload('own', sdkServerCommand('new'), '  stdioProcess: perSession\n'));
  const { code, stderr } = await place.run(UP);
  expect([code, stderr]).toEqual([0, '']);
  await isReady();
});
afterAll(() => place.close());

const clients: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

const runtimeOf = ({ processes }: Awaited<ReturnType<Workplace['status']>>) =>
  processes.find(({ name }) => name === RUNTIME)?.identity?.pid;

const BACKENDS = ['http', 'shared', 'own', 'events'];

/** Returns the tools that a new session sees; none if no session can be opened. */
async function toolNames(): Promise<string[]> {
  const url = `http://127.0.0.1:${port}/mcp`;
  const client = await SessionClient.open(url).catch(() => undefined);
  if (!client) return [];
  const names = await client.toolNames().catch(() => []);
  await send(url, 'DELETE', client.headers).catch(() => undefined);
  return names;
}

/** Waits until another process than that one serves all four backends. @returns its pid */
async function isReady(before?: number): Promise<number> {
  const status = await place.statusThat(
    (one) =>
      ![undefined, before].includes(runtimeOf(one)) &&
      one.backends.length === 4 &&
      one.backends.every(({ phase }) => phase === 'Ready'),
  );
  // The status may be that of the former process.
  await eventually(toolNames, (names) => BACKENDS.every((backend) => names.includes(`${backend}_echo`)));
  return runtimeOf(status)!;
}

/** Connects a real client; `sent` counts its messages. */
async function connect(sdk: 'old' | 'new') {
  const sent = { initialize: 0 };
  const counting: typeof fetch = (input, init) => {
    if (typeof init?.body === 'string' && init.body.includes('"initialize"')) sent.initialize += 1;
    return fetch(input, init);
  };
  const to = new URL(`http://127.0.0.1:${port}/mcp`);
  const client = await (sdk === 'old' ? connectOldClient : connectNewClient)(to, { fetch: counting });
  clients.push(client);
  const call = (backend: string) => client.callTool({ name: `${backend}_echo`, arguments: { text: backend } });
  return { call, sent };
}

const OK = { content: [{ type: 'text' }] };

/** Ways to end the runtime; each result waits until the runtime serves again. */
const RESTARTS: [string, (pid: number) => Promise<unknown>][] = [
  ['kill -9 of the runtime', (pid) => Promise.resolve(process.kill(pid, 'SIGKILL'))],
  [
    'vmcp down and vmcp up',
    async () => {
      expect((await place.run(['down'])).code).toBe(0);
      expect((await place.run(UP)).code).toBe(0);
    },
  ],
  [
    'a change of the manifest that starts another runtime',
    (pid) => {
      const annotations = `annotations: {vmcp.dev/restarted-at: 'after ${pid}'}`;
      const annotated = server('demo', port).replace('{name: demo}', `{name: demo, ${annotations}}`);
      place.manifest('server.yaml', annotated);
      return Promise.resolve();
    },
  ],
];

describe.each(RESTARTS)('a session of an official client, after %s', (_how, restart) => {
  it.each(['old', 'new'] as const)('continues with the %s SDK, and tells the client what was lost', async (sdk) => {
    const pid = await isReady();
    const [client, other] = [await connect(sdk), await connect(sdk)];
    for (const backend of BACKENDS) expect(await client.call(backend)).toMatchObject(OK);
    expect(await other.call('http')).toMatchObject(OK);

    await restart(pid);
    await isReady(pid);

    for (const backend of ['http', 'shared']) expect(await client.call(backend)).toMatchObject(OK);
    for (const backend of ['own', 'events']) {
      await expect(client.call(backend)).rejects.toThrow(
        new RegExp(`backend ${backend} lost the state of this session when its process ended`),
      );
      expect(await client.call(backend)).toMatchObject(OK);
    }
    // The session had no state at these backends.
    for (const backend of ['own', 'events', 'http']) expect(await other.call(backend)).toMatchObject(OK);
    expect([client.sent.initialize, other.sent.initialize]).toEqual([1, 1]);
  });
});

describe('the file of sessions', () => {
  it('grants access to its owner only, and contains no session id', async () => {
    const url = `http://127.0.0.1:${port}/mcp`;
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'secretive', version: '1' } };
    const opened = await send(url, 'POST', {}, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
    const id = String(opened.headers['mcp-session-id']);
    const content = [DATABASE, `${DATABASE}-wal`]
      .map((file) => readFileSync(join(place.path, file), 'latin1'))
      .join('');
    expect(content).toContain('mcp_sessions');
    for (const secret of [id, 'secretive', 'anonymous']) expect(content).not.toContain(secret);
  });

  it('leads to a warning if it is damaged, and the endpoint serves', async () => {
    expect((await place.run(['down'])).code).toBe(0);
    writeFileSync(join(place.path, DATABASE), 'text '.repeat(1_000));
    expect((await place.run(UP)).code).toBe(0);
    await isReady();
    const { conditions } = await place.statusThat((status) =>
      status.conditions.some(({ message }) => message.includes('sessions end with this process')),
    );
    expect(JSON.stringify(conditions)).toContain('move it away: then each client begins a new session');
    expect(await (await connect('old')).call('http')).toMatchObject(OK);
  });
});
