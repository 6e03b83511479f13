import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';

afterEach(closeAll);

const mainOf = (name: string) =>
  join(import.meta.dirname, '..', '..', 'node_modules', '@modelcontextprotocol', name, 'dist', 'index.js');

type Call = Parameters<Client['callTool']>[0];

const SERVERS: [name: string, call: Call][] = [
  ['server-everything', { name: 'a_echo', arguments: { message: 'hi' } }],
  ['server-memory', { name: 'a_read_graph', arguments: {} }],
];

/** Starts the gateway in front of a stdio program, with a function that kills the program. */
async function serveProgram(name: string, script = 'echo $$ > "$0"; exec "$@"') {
  const folder = await mkdtemp(join(tmpdir(), 'restarts-'));
  closing({ close: () => rm(folder, { recursive: true }) });
  const pidFile = join(folder, 'pid');
  const gateway = closing(
    await serveGateway({
      incoming: { type: 'anonymous' },
      audit_config: { enabled: true },
      backends: [
        {
          name: 'a',
          transport: 'stdio',
          command: '/bin/sh',
          args: ['-c', script, pidFile, process.execPath, mainOf(name)],
          env: { MEMORY_FILE_PATH: join(folder, 'memory.json') },
        },
      ],
    }),
  );
  const pid = async () => Number(await readFile(pidFile, 'utf8'));
  return {
    gateway,
    /** Kills the process, and resolves when the next one runs. */
    kill: async () => {
      const before = await pid();
      process.kill(before, 'SIGKILL');
      await until('the next process', async () => (await pid()) !== before);
    },
    killOnly: async () => process.kill(await pid(), 'SIGKILL'),
  };
}

const detailsOf = (gateway: ServedGateway): { outcome: string; code: string | undefined; backend: string }[] =>
  gateway
    .log()
    .split('\n')
    .filter((line) => line.includes('"mcp_tool_call"'))
    .map((line) => JSON.parse(line) as { outcome: string; target: { backend: string }; data?: { code?: string } })
    .map(({ outcome, target, data }) => ({ outcome, code: data?.code, backend: target.backend }));

describe('a stdio program that is killed repeatedly', () => {
  it.each(SERVERS)('%s fails only the calls in flight, and denies none', async (name, call) => {
    const { gateway, kill } = await serveProgram(name);
    const client = closing(await connectOldClient(new URL(gateway.url)));
    let isOver = false;
    const reasons: unknown[] = [];
    let answered = 0;
    const callers = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        try {
          await client.callTool(call);
          answered++;
        } catch (error) {
          reasons.push(error instanceof McpError ? (error.data as { reason?: unknown } | undefined)?.reason : error);
        }
      }
    });
    for (let kills = 0; kills < 5; kills++) {
      const before = answered;
      await until('calls that are answered', () => answered > before + 20);
      await kill();
    }
    const before = answered;
    await until('calls after the last kill', () => answered > before + 20);
    isOver = true;
    await Promise.all(callers);
    expect(reasons.filter((reason) => reason !== 'ended' && reason !== 'restarting')).toEqual([]);
    const outcomes = detailsOf(gateway);
    expect(outcomes.filter(({ outcome }) => outcome === 'denied')).toEqual([]);
    expect(new Set(outcomes.map(({ backend }) => backend))).toEqual(new Set(['a']));
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(0);
  });

  it('gives restarting as the reason, after a bounded wait, if it does not return', async () => {
    const once = 'test -e "$0" && exit 1; echo $$ > "$0"; exec "$@"';
    const { gateway, killOnly } = await serveProgram('server-memory', once);
    const client = closing(await connectOldClient(new URL(gateway.url)));
    await client.listTools();
    await killOnly();
    await until('its end', () => gateway.log().includes('the process of a backend is gone'));
    expect(gateway.log()).toContain('"startsAgainInMs":0');
    await expect(client.callTool({ name: 'a_read_graph', arguments: {} })).rejects.toThrow(
      'backend a is restarting; try again in a moment',
    );
    await until('the audit line', () => detailsOf(gateway).length === 1);
    expect(detailsOf(gateway)).toEqual([{ outcome: 'failure', code: 'backend_restarting', backend: 'a' }]);
  });

  it('shows as degraded with the reason, and as ready as soon as it serves again', async () => {
    const { gateway, kill } = await serveProgram('server-memory');
    const health = () => gateway.runtime.gateway.services.backends.get('a')?.health;
    const phases: string[] = [];
    const look = setInterval(() => phases.push(`${health()?.phase} ${health()?.message}`), 1);
    await kill();
    await until('ready', () => health()?.phase === 'ready');
    clearInterval(look);
    await sleep(0);
    expect(phases.find((phase) => phase.startsWith('degraded'))).toContain('its process was ended by SIGKILL');
    expect(phases.filter((phase) => phase.startsWith('unavailable'))).toEqual([]);
  });
});
