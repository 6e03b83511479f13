import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveCollector } from '../fakes/otlp/serve-collector.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { send } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

type Telemetry = NonNullable<RunConfigDocument['telemetry_config']>;

afterEach(closeAll);

async function warningsOf(gateway: ServedGateway): Promise<string[]> {
  const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
  return (JSON.parse(text) as { warnings: string[] }).warnings;
}

async function startWith(telemetry_config: Telemetry): Promise<ServedGateway> {
  const server = await startSdkServer('new');
  closing({ close: () => server.stop() });
  return gatewayTo({ tools: server.url }, { telemetry_config });
}

async function countTools(gateway: ServedGateway): Promise<number> {
  const client = await connectOldClient(new URL(gateway.url));
  const { tools } = await client.listTools();
  await client.close();
  return tools.length;
}

describe('unsendable traces', () => {
  it.each<[string, Telemetry, RegExp]>([
    [
      'would go in clear',
      { endpoint: 'http://collector.invalid:4318' },
      /no spans are sent.*telemetry_config\.endpoint: is http: write https, or insecure: true/,
    ],
    [
      'need a file that is missing',
      { endpoint: 'https://collector.invalid', header_files: { 'x-key': 'none' } },
      /no spans are sent.*none: there is no such file/,
    ],
    [
      'have a header that no request can carry',
      { endpoint: 'https://collector.invalid', headers: { 'x key': 'a' } },
      /no spans are sent.*cannot stand in a request/,
    ],
  ])('do not stop the endpoint if they %s', async (_case, telemetry, reason) => {
    const gateway = await startWith({ tracingEnabled: true, samplingRate: '1', ...telemetry });
    expect(await countTools(gateway)).toBeGreaterThan(0);
    expect((await warningsOf(gateway)).filter((one) => reason.test(one))).toHaveLength(1);
  });

  it('become sendable as soon as the missing file exists', async () => {
    const collector = closing(await serveCollector());
    const gateway = await startWith({
      ...{ tracingEnabled: true, samplingRate: '1', endpoint: collector.url, insecure: true },
      header_files: { 'x-key': 'key' },
    });
    await countTools(gateway);
    expect(collector.requests).toEqual([]);
    await writeFile(join(gateway.folder, 'key'), 'sesame');
    await until('spans can be sent', async () => (await warningsOf(gateway)).length === 0);
    await until('a span comes', async () => {
      await countTools(gateway);
      return collector.requests.length > 0;
    });
    expect(collector.requests[0]).toMatchObject({ headers: { 'x-key': 'sesame' } });
  });
});
