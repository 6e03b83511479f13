import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { isRunning, startOf } from '#local/process-identity';
import { startGateway } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, type Sdk } from '../sdk-servers/start-sdk-server.ts';

afterEach(closeAll);

type Mode = 'shared' | 'perSession';

describe.each<[sdk: Sdk, mode: Mode]>([
  ['old', 'shared'],
  ['new', 'perSession'],
])('a stdio server of the %s SDK (%s) with a killed gateway', (sdk, mode) => {
  it('ends, although a call keeps it running', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'killed-gateway-'));
    closing({ close: () => rm(folder, { recursive: true }) });
    const pidFile = join(folder, 'pid');
    const backend = {
      name: 'a',
      transport: 'stdio',
      stdio_process: mode,
      ...sdkServerCommand(sdk, { pidFile }),
    } as const;
    const gateway = await startGateway({ incoming: { type: 'anonymous' }, backends: [backend] });
    closing({ close: gateway.stop });
    const client = closing(await connectOldClient(new URL(gateway.url)));
    client.onerror = () => undefined;
    const call = (name: string, args: object) => client.callTool({ name: `a_${name}`, arguments: { ...args } });
    call('slow', { ms: 600_000 }).catch(() => undefined);
    await until('the call', async () => {
      const { structuredContent } = await call('count', {});
      return (structuredContent as Record<string, { begun: number }>).slow?.begun === 1;
    });
    const pid = Number(await readFile(pidFile, 'utf8'));
    const server = { pid, started: startOf(pid) ?? '' };
    closing({
      close: () => {
        if (isRunning(server)) process.kill(pid, 'SIGKILL');
      },
    });
    expect(isRunning(server)).toBe(true);
    process.kill(gateway.pid, 'SIGKILL');
    await gateway.ended;
    await until('the end of the server', () => !isRunning(server));
  });
});
