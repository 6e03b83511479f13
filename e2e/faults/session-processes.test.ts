import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { dropBackendSession } from '#runtime/mcp/sessions/open-backend-session';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand } from '../sdk-servers/start-sdk-server.ts';

afterEach(closeAll);

/**
 * Starts a server of the official SDK with a process for each session. Returns a function that lists the pids of the
 * running ones.
 */
async function serveSessions(limits: RunConfigDocument['limits'] = {}, health_check_interval = '1h') {
  const folder = await mkdtemp(join(tmpdir(), 'processes-'));
  closing({ close: () => rm(folder, { recursive: true }) });
  const { command, args } = sdkServerCommand('old');
  const gateway = closing(
    await serveGateway({
      incoming: { type: 'anonymous' },
      limits,
      audit_config: { enabled: true },
      // A probe starts a separate process.
      operational: { failure_handling: { health_check_interval } },
      backends: [
        {
          name: 'a',
          transport: 'stdio',
          stdio_process: 'perSession',
          command: '/bin/sh',
          args: ['-c', 'touch "$0/$$"; exec "$@"', folder, command, ...args],
        },
      ],
    }),
  );
  const isRunning = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const running = async () => (await readdir(folder)).map(Number).filter(isRunning);
  // The backend starts a separate process for its own lists.
  const health = () => gateway.runtime.gateway.services.backends.get('a')?.health;
  await until('the lists of the gateway itself', () => typeof health()?.resources === 'number');
  const client = closing(await connectOldClient(new URL(gateway.url)));
  return { gateway, client, running };
}

/** Calls the tool `echo`, and returns the number of calls of this process so far. */
async function echoesOf(client: Client): Promise<unknown> {
  await client.callTool({ name: 'a_echo', arguments: { text: 'hi' } });
  const { structuredContent } = await client.callTool({ name: 'a_count', arguments: {} });
  return (structuredContent as { echo: { begun: number } }).echo.begun;
}

async function reasonOf(call: Promise<unknown>): Promise<unknown> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof McpError ? (error.data as { reason?: unknown }).reason : error;
}

const LOST = 'backend a lost the state of this session when its process ended; call again to begin anew';

describe('the process of a session', () => {
  it('fails the first call after it was killed with the reason, and starts again for the second', async () => {
    const { gateway, client, running } = await serveSessions();
    expect(await echoesOf(client)).toBe(1);
    expect(await echoesOf(client)).toBe(2);
    const pids = await running();
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    const ends = () => gateway.log().split('what a session talked to is gone').length - 1;
    await until('the ends', () => ends() === pids.length);
    await client.listTools();
    await expect(client.callTool({ name: 'a_echo', arguments: { text: 'hi' } })).rejects.toThrow(LOST);
    expect(await echoesOf(client)).toBe(1);
    await until('the audit line', () => gateway.log().includes('backend_state_lost'));
    expect(gateway.log()).toMatch(/"outcome":"failure".*"code":"backend_state_lost"/);
  });

  it('fails only one call if it ends during a call', async () => {
    const { client } = await serveSessions();
    await echoesOf(client);
    expect(await reasonOf(client.callTool({ name: 'a_die', arguments: {} }))).toBe('ended');
    expect(await echoesOf(client)).toBe(1);
  });

  it('loses nothing if a late stream drops the earlier process a second time', async () => {
    const { gateway, client } = await serveSessions();
    await echoesOf(client);
    const session = gateway.runtime.gateway.services.sessions.get(client.transport?.sessionId ?? '');
    const ended = session?.backendSessions[0];
    if (!session || !ended) throw new Error('the session has no process');
    expect(await reasonOf(client.callTool({ name: 'a_die', arguments: {} }))).toBe('ended');
    expect(await echoesOf(client)).toBe(1);
    dropBackendSession(session, ended);
    expect(await echoesOf(client)).toBe(2);
  });

  it('ends when its session does not use it, and the next call reports it in a session that goes on', async () => {
    const { client, running } = await serveSessions({ session_idle: '2s' });
    // The client's open stream keeps its session alive, but not the process.
    await echoesOf(client);
    await until('the end of the process', async () => (await running()).length === 0);
    expect(await reasonOf(client.callTool({ name: 'a_echo', arguments: { text: 'hi' } }))).toBe('state_lost');
    expect(await echoesOf(client)).toBe(1);
  });

  it('makes its backend degraded, not unavailable, while it leaves no quota for the process of a probe', async () => {
    const { gateway, client } = await serveSessions({ sessions_per_principal: 2 }, '500ms');
    const health = () => gateway.runtime.gateway.services.backends.get('a')?.health;
    // The first call may come while a probe has the quota.
    await until('its process', async () => (await echoesOf(client)) !== undefined);
    await until('a probe', () => health()?.phase !== 'ready');
    expect(health()).toMatchObject({ phase: 'degraded', message: expect.stringContaining('too many calls') });
  });
});
