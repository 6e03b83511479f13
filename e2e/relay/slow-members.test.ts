import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { z } from 'zod';
import { serveWebHandler } from '../fakes/http/serve-web-handler.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { sendModern, SessionClient, type Reply } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';

/** Longer than the time limit of the tests: a wait for a hanging backend fails them. */
const PATIENT = {
  limits: { list_deadline: '1h', connect_timeout: '1h' },
  operational: { timeouts: { default: '1h' } },
};

const stopped = new Set<SdkServer>();

afterEach(async () => {
  for (const server of stopped) resume(server);
  await closeAll();
});

async function start(port?: number): Promise<SdkServer> {
  const server = await startSdkServer('new', port === undefined ? {} : { port });
  closing({ close: () => (resume(server), server.stop()) });
  return server;
}

/** Stops the server's process: the kernel still accepts connections, but the server does not answer. */
function hang(server: SdkServer): void {
  process.kill(server.pid, 'SIGSTOP');
  stopped.add(server);
}

function resume(server: SdkServer): void {
  if (stopped.delete(server) && !server.exited()) process.kill(server.pid, 'SIGCONT');
}

const revisions = {
  '2025-11-25': (url: string, headers = {}) => connectOldClient(new URL(url), { headers }),
  '2026-07-28': (url: string, headers = {}) => connectNewClient(new URL(url), { headers, revision: '2026-07-28' }),
};

async function echoTools(url: string, revision: keyof typeof revisions): Promise<string[]> {
  const client = await revisions[revision](url);
  closing(client);
  const { tools } = await client.listTools();
  return tools.map(({ name }) => name).filter((name) => name.endsWith('_echo'));
}

/** Expires the backend's list as a list-changed notification does. */
function expire(gateway: ServedGateway, backend: string): void {
  gateway.runtime.gateway.services.listChangedNotifier.listChanged(backend, ['tools']);
}

const listOf = async (client: SessionClient) => (await client.request('tools/list')).answer;

describe.each(Object.keys(revisions) as (keyof typeof revisions)[])(
  'a client of %s beside a hanging backend',
  (era) => {
    it("connects, lists the backend's last list, and calls the others", async () => {
      const [good, bad] = [await start(), await start()];
      const gateway = await gatewayTo({ good: good.url, bad: bad.url }, PATIENT);
      const before = await revisions[era](gateway.url);
      closing(before);
      expect((await before.listTools()).tools.map(({ name }) => name)).toContain('bad_echo');
      hang(bad);
      for (let turn = 0; turn < 3; turn += 1) {
        expire(gateway, 'bad');
        expect(await echoTools(gateway.url, era)).toEqual(['good_echo', 'bad_echo']);
        const again = await before.listTools();
        expect(again.tools.map(({ name }) => name)).toContain('bad_echo');
        const called = await before.callTool({ name: 'good_echo', arguments: { text: 'x' } });
        expect(called.content).toEqual([{ type: 'text', text: 'x' }]);
      }
      resume(bad);
      const called = await before.callTool({ name: 'bad_echo', arguments: { text: 'y' } });
      expect(called.content).toEqual([{ type: 'text', text: 'y' }]);
    });

    it('sees no item of the last list that a new policy hides', async () => {
      const [good, bad] = [await start(), await start()];
      const backends = { good: good.url, bad: bad.url };
      const gateway = await gatewayTo(backends, PATIENT);
      expect(await echoTools(gateway.url, era)).toEqual(['good_echo', 'bad_echo']);
      hang(bad);
      const authz = { policies: ['permit(principal, action, resource in Backend::"good");'] };
      await gateway.reconfigure(configTo(backends, { ...PATIENT, authz }));
      expect(await echoTools(gateway.url, era)).toEqual(['good_echo']);
    });

    it('sees nothing of a backend with new settings', async () => {
      const [good, bad] = [await start(), await start()];
      const gateway = await gatewayTo({ good: good.url, bad: bad.url }, PATIENT);
      expect(await echoTools(gateway.url, era)).toEqual(['good_echo', 'bad_echo']);
      hang(bad);
      const header_forward = { add_plaintext_headers: { 'x-tenant': 'another' } };
      const changed = configTo({ good: good.url, bad: { url: bad.url, header_forward } }, PATIENT);
      // `reconfigure` would wait for the first probe, which hangs.
      void gateway.reconfigure(changed);
      await until('the new settings', () => gateway.log().includes('run configuration taken over'));
      expect(await echoTools(gateway.url, era)).toEqual(['good_echo']);
    });
  },
);

describe('an open session at a hanging backend', () => {
  it('still sets the log level and sends notifications', async () => {
    const [good, bad] = [await start(), await start()];
    const gateway = await gatewayTo({ good: good.url, bad: bad.url }, PATIENT);
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    const [session] = gateway.runtime.gateway.services.sessions.all();
    await until('a session at each', () => session?.backendSessions.length === 2);
    hang(bad);
    expect((await client.request('logging/setLevel', { level: 'error' })).answer.result).toEqual({});
    expect((await client.notify('notifications/roots/list_changed')).status).toBe(202);
    expect((await client.call('good_echo', { text: 'x' })).answer.result).toBeDefined();
    stream.close();
  });
});

describe('a subscription of 2026-07-28 beside a hanging backend', () => {
  it('gets its acknowledgement, which SDK clients wait for when they connect', async () => {
    const [good, bad] = [await start(), await start()];
    const gateway = await gatewayTo({ good: good.url, bad: bad.url }, PATIENT);
    hang(bad);
    let received = 0;
    const client = new Client(
      { name: 'new', version: '1' },
      {
        versionNegotiation: { mode: { pin: '2026-07-28' } },
        listChanged: { tools: { autoRefresh: false, onChanged: () => (received += 1) } },
      },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
    closing(client);
    expire(gateway, 'good');
    await until('the change notification', () => received > 0);
  });
});

describe('a backend that has never answered', () => {
  it('delays one list, stays out of later lists, and joins with list_changed when it answers', async () => {
    const [good, bad] = [await start(), await start()];
    hang(bad);
    const gateway = closing(await serveUnprobed({ good: good.url, bad: bad.url }));
    await until('the other one', () => phaseOf(gateway, 'good') === 'ready');
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    expect(await client.toolNames()).not.toContain('bad_echo');
    const others = await Promise.all(Array.from({ length: 5 }, () => SessionClient.open(gateway.url)));
    for (const other of others) expect(await other.toolNames()).toContain('good_echo');
    resume(bad);
    await until('its tools', async () => (await client.toolNames()).includes('bad_echo'));
    await stream.waitFor(({ method }) => method === 'notifications/tools/list_changed');
    stream.close();
  });

  it('answers a call from before its first list once it has listed', async () => {
    const bad = await start();
    hang(bad);
    const gateway = closing(await serveUnprobed({ bad: bad.url }));
    const client = await SessionClient.open(gateway.url);
    expect((await client.request('tools/list')).answer.error).toBeDefined();
    const call = client.call('bad_echo', { text: 'x' });
    await sleep(200);
    resume(bad);
    expect((await call).answer.result).toMatchObject({ content: [{ type: 'text', text: 'x' }] });
  });
});

describe('the phase of a hanging backend', () => {
  it('becomes degraded, then unavailable, and ready again when the backend answers', async () => {
    const bad = await start();
    const failure_handling = { health_check_interval: '1s', health_check_timeout: '2s', unhealthy_threshold: 2 };
    const gateway = await gatewayTo({ bad: bad.url }, { operational: { failure_handling } });
    expect(phaseOf(gateway, 'bad')).toBe('ready');
    hang(bad);
    await until('one failed check', () => phaseOf(gateway, 'bad') === 'degraded');
    expect(backendOf(gateway, 'bad').health.message).toMatch(/^failed its last health check: .*time/);
    await until('two failed checks', () => phaseOf(gateway, 'bad') === 'unavailable');
    resume(bad);
    await until('an answer', () => phaseOf(gateway, 'bad') === 'ready');
  });
});

describe('a group without an answering backend', () => {
  it('answers lists with an error that advises another try, and with the lists when one is back', async () => {
    const bad = await start();
    hang(bad);
    const gateway = closing(await serveUnprobed({ bad: bad.url }));
    const client = await SessionClient.open(gateway.url);
    const replies: Reply[] = [await client.request('tools/list'), await sendModern(gateway.url, 'tools/list')];
    for (const { status, answer } of replies) {
      expect(status).toBe(200);
      expect(answer.error).toMatchObject({ code: -32603, data: { retryAfterMs: 1_000 } });
    }
    resume(bad);
    await until('its tools', async () => (await client.toolNames()).includes('bad_echo'));
  });

  it('answers with the last lists if there are any', async () => {
    const only = await start();
    const gateway = await gatewayTo({ only: only.url }, quickProbes);
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toContain('only_echo');
    await only.kill();
    await until('it is away', () => phaseOf(gateway, 'only') === 'unavailable');
    expect(await (await SessionClient.open(gateway.url)).toolNames()).toContain('only_echo');
    const { error } = (await client.call('only_echo', { text: 'x' })).answer;
    expect(error).toMatchObject({ code: -32603, data: { backend: 'only' } });
    await start(only.port);
    await until('it is back', async () => (await client.call('only_echo', { text: 'x' })).answer.result !== undefined);
  });

  it('answers with empty lists if the group has no backends, or none with tools', async () => {
    const empty = await gatewayTo({});
    expect(await listOf(await SessionClient.open(empty.url))).toMatchObject({ result: { tools: [] } });
    const some = await start();
    const without = await gatewayTo({ some: some.url }, { aggregation: { exclude_all_tools: true } });
    expect(await listOf(await SessionClient.open(without.url))).toMatchObject({ result: { tools: [] } });
  });

  it('answers with an empty list if an answering backend has no item of that kind', async () => {
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 'tools', version: '1' });
      server.registerTool('hello', { inputSchema: z.object({}) }, () => ({
        content: [{ type: 'text', text: 'hello' }],
      }));
      return server;
    });
    const { port } = closing(await serveWebHandler((request) => handler.fetch(request), 0));
    const dead = `http://127.0.0.1:${await findFreePort()}/mcp`;
    const gateway = await gatewayTo({ tools: `http://127.0.0.1:${port}/mcp`, dead });
    const client = await SessionClient.open(gateway.url);
    expect((await client.request('prompts/list')).answer.result).toEqual({ prompts: [] });
    expect((await client.request('resources/list')).answer.result).toEqual({ resources: [] });
    expect(await client.toolNames()).toEqual(['tools_hello']);
  });

  it('opens no session with partial_failure_mode fail', async () => {
    const bad = await start();
    hang(bad);
    const failure_handling = { partial_failure_mode: 'fail' as const };
    const gateway = closing(await serveUnprobed({ bad: bad.url }, { operational: { failure_handling } }));
    await expect(SessionClient.open(gateway.url)).rejects.toThrow(/backend bad cannot be reached/);
  });
});

describe('a process of one session', () => {
  it("starts with the session's first call, and not for sessions that only connect and list", async () => {
    const { command, args } = sdkServerCommand('old');
    const own = { name: 'own', transport: 'stdio' as const, command, args, stdio_process: 'perSession' as const };
    const gateway = closing(await serveGateway({ incoming: { type: 'anonymous' }, backends: [own] }));
    const first = await connectOldClient(new URL(gateway.url));
    closing(first);
    // A list waits 2 s for the process. A busy machine needs longer to start it.
    await until('its tools', async () => {
      const { tools } = await first.listTools().catch(() => ({ tools: [] }));
      return tools.some(({ name }) => name === 'own_echo');
    });
    const starts = () => startsOf(gateway, 'own');
    const before = starts();
    for (let session = 0; session < 5; session += 1) {
      const client = await connectOldClient(new URL(gateway.url));
      closing(client);
      await until('its stream', () =>
        [...gateway.runtime.gateway.services.sessions.all()].every(({ stream }) => stream),
      );
      expire(gateway, 'own');
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('own_echo');
    }
    expect(starts()).toBe(before);
    const last = await SessionClient.open(gateway.url);
    await last.call('own_echo', { text: 'x' });
    await last.call('own_echo', { text: 'x' });
    expect(starts()).toBe(before + 1);
  });
});

const quickProbes = {
  operational: { failure_handling: { health_check_interval: '1s', unhealthy_threshold: 1 } },
} satisfies Partial<RunConfigDocument>;

/** Starts a gateway without waiting for the first probes. */
function serveUnprobed(
  backends: Record<string, string>,
  more: Partial<RunConfigDocument> = {},
): Promise<ServedGateway> {
  return serveGateway(configTo(backends, { ...PATIENT, ...more }), { probed: false });
}

function backendOf({ runtime }: ServedGateway, name: string) {
  const backend = runtime.gateway.services.backends.get(name);
  if (!backend) throw new Error(`there is no backend ${name}`);
  return backend;
}

const phaseOf = (gateway: ServedGateway, name: string) => backendOf(gateway, name).health.phase;

function startsOf(gateway: ServedGateway, name: string): number {
  const backend = backendOf(gateway, name);
  if (backend.starts === undefined) throw new Error('it is no process');
  return backend.starts;
}
