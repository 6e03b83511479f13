import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { serveGateway } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { ANSWERS, connectNewClient } from '../sdk-servers/connect-sdk-client.ts';
import { publishedServer } from './published-server.ts';

afterEach(closeAll);

/** Starts these programs behind a gateway, and connects the SDK's client in revision 2026-07-28. */
async function connect(...backends: GatewayConfig['backends']) {
  const { url } = closing(await serveGateway({ incoming: { type: 'anonymous' }, backends }));
  const client = closing(await connectNewClient(new URL(url), { revision: '2026-07-28', answers: ANSWERS }));
  const call = async (name: string, args: Record<string, unknown> = {}) =>
    JSON.stringify((await client.callTool({ name, arguments: args })).content);
  return { client, call };
}

it('serves clients of 2026-07-28 by server-everything, which samples', async () => {
  const { client, call } = await connect(publishedServer('everything'));
  expect((await client.listTools()).tools.length).toBeGreaterThan(5);
  expect(await call('everything_echo', { message: 'hi' })).toContain('hi');
  expect(await call('everything_trigger-sampling-request', { prompt: 'x', maxTokens: 5 })).toContain('word');
}, 60_000);

it('serves clients of 2026-07-28 by server-filesystem, which asks for roots', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'vmcp-e2e-')));
  closing({ close: () => rm(folder, { recursive: true }) });
  await writeFile(join(folder, 'a.txt'), 'content');
  const { client, call } = await connect(publishedServer('filesystem', folder));
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('filesystem_read_text_file');
  expect(await call('filesystem_list_allowed_directories')).toBeDefined();
}, 60_000);

it('serves clients of 2026-07-28 by server-memory', async () => {
  const { call } = await connect(publishedServer('memory'));
  expect(await call('memory_read_graph')).toContain('entities');
}, 60_000);
