import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { SessionClient } from '../gateway/session-client.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from '../relay/gateway-to.ts';
import { sdkServerCommand } from '../sdk-servers/start-sdk-server.ts';

afterEach(closeAll);

describe('a field of a run configuration', () => {
  it('replaces each hint of a tool: annotations', async () => {
    const member = closing(await serveEverything());
    const annotations = {
      title: 'Say',
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    };
    const tools = [{ workload: 'a', overrides: { test_simple_text: { annotations } } }];
    const gateway = await gatewayTo({ a: member.url }, { aggregation: { tools } });
    const { answer } = await (await SessionClient.open(gateway.url)).request('tools/list');
    const listed = answer.result?.tools as { name: string; annotations?: object }[];
    expect(listed.find(({ name }) => name === 'a_test_simple_text')?.annotations).toEqual(annotations);
  });

  it('starts another process: restarted_at', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-fields-'));
    closing({ close: () => rm(folder, { recursive: true, force: true }) });
    const pidFile = join(folder, 'pid');
    const configOf = (restarted_at: string, more: Partial<GatewayConfig> = {}): GatewayConfig => ({
      ...{ incoming: { type: 'anonymous' }, ...more },
      backends: [{ name: 'a', transport: 'stdio', ...sdkServerCommand('old', { pidFile }), restarted_at }],
    });
    const pid = () => readFile(pidFile, 'utf8');
    const gateway = closing(await serveGateway(configOf('1')));
    const first = await pid();
    await gateway.reconfigure(configOf('1', { passthrough_headers: ['x-a'] }));
    expect(await pid()).toBe(first);
    await gateway.reconfigure(configOf('2', { passthrough_headers: ['x-a'] }));
    await until('another process', async () => (await pid()) !== first);
  });

  it('sets the level from which lines are logged: log_level', async () => {
    const gateway = await gatewayTo({});
    const takenOver = () => gateway.log().split('"run configuration taken over"').length - 1;
    await gateway.reconfigure(configTo({}, { operational: { log_level: 'info' } }));
    expect(takenOver()).toBe(1);
    await gateway.reconfigure(configTo({}, { operational: { log_level: 'error' } }));
    expect(takenOver()).toBe(1);
  });
});
