import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { openStream, send, SessionClient } from '../gateway/session-client.ts';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { connectNewClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand } from '../sdk-servers/start-sdk-server.ts';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-kept-'));
  file = join(folder, 'sessions.sqlite');
});
afterEach(async () => {
  await closeAll();
  rmSync(folder, { recursive: true, force: true });
});

const files = { sealing: randomBytes(32).toString('hex') };
const kept = (more: Partial<GatewayConfig> = {}): Partial<GatewayConfig> => ({
  session_storage: { type: 'sqlite', file },
  sealing_secret_files: ['sealing'],
  ...more,
});
const start = (urls: Record<string, string>, more: Partial<GatewayConfig> = {}, evictableAfter?: number) =>
  gatewayTo(urls, kept(more), { files, ...(evictableAfter !== undefined && { evictableAfter }) });
const statusOf = async (gateway: ServedGateway) =>
  (await fetch(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`)).text();
const at = (gateway: ServedGateway, client: SessionClient, method = 'ping', params?: object) =>
  send(gateway.url, 'POST', client.headers, client.message(method, params));

/** Locks the file against other writers. Returns a function that unlocks it. */
function lock(mode: 'IMMEDIATE' | 'EXCLUSIVE'): () => void {
  const other = new DatabaseSync(file);
  other.exec(`BEGIN ${mode}`);
  return () => {
    other.exec('ROLLBACK');
    other.close();
  };
}

describe('sessions stored in a file', () => {
  it('continue in another process with backend sessions and subscriptions, and get a list-changed notification', async () => {
    const used: unknown[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: ({ headers }, _response, body) => {
          if (body.includes('tools/call')) used.push(headers['mcp-session-id']);
          return false;
        },
      }),
    );
    const before = await start({ a: backend.url });
    const client = await SessionClient.open(before.url);
    await client.call('a_tool_0', { text: 'x' });
    await before.runtime.stop();
    const after = await start({ a: backend.url });
    const call = { name: 'a_tool_0', arguments: { text: 'x' } };
    expect((await at(after, client, 'tools/call', call)).answer.result).toBeDefined();
    expect(new Set(used).size).toBe(1);
    const stream = await openStream(after.url, client.headers);
    await stream.waitFor(({ method }) => method === 'notifications/tools/list_changed');
    stream.close();
  });

  it('belong only to their owner after a restart, and an ended one stays ended', async () => {
    const first = await protectedGateway({ config: kept(), files });
    const [alice, mallory] = [await first.bearer(), await first.bearer({ sub: 'mallory' })];
    const client = await SessionClient.open(first.gateway.url, alice);
    const ended = await SessionClient.open(first.gateway.url, alice);
    expect((await send(first.gateway.url, 'DELETE', ended.headers)).status).toBe(204);
    await first.gateway.runtime.stop();
    const again = closing(await gatewayTo({ a: first.backend.url }, kept({ incoming: first.incoming }), { files }));
    expect((await send(again.url, 'POST', { ...client.headers, ...mallory }, client.message('ping'))).status).toBe(404);
    expect((await at(again, client)).status).toBe(200);
    expect((await at(again, ended)).status).toBe(404);
  });

  it('need no write for a call', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await start({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.call('a_tool_0', { text: 'x' });
    const written = () => readFileSync(`${file}-wal`);
    const before = written();
    for (let nr = 0; nr < 50; nr += 1) expect((await client.call('a_tool_0', { text: 'x' })).status).toBe(200);
    expect(written().equals(before)).toBe(true);
  });

  it('count with those of before a restart, and the one idle for longest is evicted', async () => {
    const limits = { sessions_per_principal: 2 };
    const before = await start({}, { limits }, 0);
    const clients = [await SessionClient.open(before.url), await SessionClient.open(before.url)];
    await before.runtime.stop();
    const after = await start({}, { limits, audit_config: { enabled: true } }, 1);
    expect((await at(after, clients[0]!)).status).toBe(200);
    const newest = await SessionClient.open(after.url);
    const statuses = [clients[0]!, clients[1]!, newest].map(async (client) => (await at(after, client)).status);
    expect(await Promise.all(statuses)).toEqual([200, 404, 200]);
    await until('the audit', () => after.log().includes('"type":"mcp_session_evicted"'));
  });

  it('stay only in memory, with a warning, if the file is damaged or locked', async () => {
    const locked = await start({});
    await locked.runtime.stop();
    const unlock = lock('EXCLUSIVE');
    const beside = await start({});
    unlock();
    writeFileSync(file, 'text '.repeat(1_000));
    for (const gateway of [beside, await start({})]) {
      const client = await SessionClient.open(gateway.url);
      expect((await client.request('ping')).status).toBe(200);
      expect(gateway.log()).toContain('sessions end with this process, as their file cannot be used');
      expect(await statusOf(gateway)).toContain('sessions end with this process');
      await gateway.reconfigure({ incoming: { type: 'anonymous' }, backends: [], session_storage: { type: 'memory' } });
      expect(await statusOf(gateway)).not.toContain('sessions end with this process');
    }
  });

  it('open and continue while the file is not writable, and reach it later', async () => {
    const more = { limits: { session_idle: '6s' } };
    const gateway = await start({}, more);
    const early = await SessionClient.open(gateway.url);
    const unlock = lock('IMMEDIATE');
    const late = await SessionClient.open(gateway.url);
    for (const client of [early, late]) expect((await client.request('ping')).status).toBe(200);
    expect(await statusOf(gateway)).toContain('the file of sessions cannot be written');
    unlock();
    await until('what was not written', async () => !(await statusOf(gateway)).includes('cannot be written'));
    await gateway.runtime.stop();
    const after = await start({}, more);
    for (const client of [early, late]) expect((await at(after, client)).status).toBe(200);
  });

  it('keep the limit of each principal while the file is not writable', async () => {
    const gateway = await start({}, { limits: { sessions_per_principal: 2 } });
    const unlock = lock('IMMEDIATE');
    const clients = [await SessionClient.open(gateway.url), await SessionClient.open(gateway.url)];
    await expect(SessionClient.open(gateway.url)).rejects.toThrow('initialize: 503');
    for (const client of clients) expect((await client.request('ping')).status).toBe(200);
    unlock();
  });

  it('get one error after a reload has ended their own process', async () => {
    const configOf = (env: Record<string, string>): GatewayConfig => ({
      incoming: { type: 'anonymous' },
      backends: [
        { name: 'own', transport: 'stdio', stdio_process: 'perSession', ...sdkServerCommand('new'), env },
        { name: 'shared', transport: 'stdio', ...sdkServerCommand('new'), env },
      ],
      ...kept(),
    });
    const gateway = closing(await serveGateway(configOf({}), { files }));
    const client = closing(await connectNewClient(new URL(gateway.url)));
    const call = (backend: string) => client.callTool({ name: `${backend}_echo`, arguments: { text: 'x' } });
    for (const backend of ['own', 'shared']) expect(await call(backend)).toMatchObject({ content: [{ text: 'x' }] });
    await gateway.reconfigure(configOf({ CHANGED: '1' }));
    await expect(call('own')).rejects.toThrow(/backend own lost the state of this session/);
    for (const backend of ['own', 'shared']) expect(await call(backend)).toMatchObject({ content: [{ text: 'x' }] });
  });

  it('require a sealing secret', async () => {
    await expect(gatewayTo({}, { ...kept(), sealing_secret_files: [] })).rejects.toThrow(/sealing_secret_files/);
  });
});
