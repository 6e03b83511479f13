import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { until } from '../gateway/until.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { auditLinesIn } from '../gateway/audit-lines.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const AUDIT = { audit_config: { enabled: true } };

const auditOf = (gateway: ServedGateway, type: string) =>
  auditLinesIn(gateway.log()).filter((line) => line.type === type);

const metricsOf = async (gateway: ServedGateway) =>
  (await fetch(`http://127.0.0.1:${gateway.runtime.address.privatePort}/metrics`)).text();

describe('a principal at the limit of sessions', () => {
  it('opens 40 more with official clients that hold streams, and loses those idle for longest', async () => {
    const server = await startSdkServer('new');
    closing({ close: () => server.stop() });
    const at = await protectedGateway({
      config: {
        backends: [{ name: 'a', transport: 'streamable-http', url: server.url }],
        limits: { sessions_per_principal: 100 },
        ...AUDIT,
      },
      evictableAfter: 200,
    });
    const headers = await at.bearer();
    const connect = async (nr: number) => {
      const to = new URL(at.gateway.url);
      const client = closing(await (nr % 2 === 0 ? connectOldClient : connectNewClient)(to, { headers }));
      return { call: () => client.callTool({ name: 'a_echo', arguments: { text: 'x' } }) };
    };
    const { services } = at.gateway.runtime.gateway;
    const streams = () => [...services.sessions.all()].filter(({ stream }) => stream !== undefined).length;

    const first = [];
    for (let nr = 0; nr < 100; nr++) first.push(await connect(nr));
    await until('their streams', () => streams() === 100);
    const used = first.slice(0, 10);
    for (const client of used) await client.call();
    await sleep(300);
    const newcomers = await Promise.all(Array.from({ length: 40 }, (_, nr) => connect(nr)));

    for (const client of [...newcomers, ...used, ...first.slice(50)])
      expect(await client.call()).toMatchObject({ content: [{ type: 'text' }] });
    for (const client of first.slice(10, 50)) await expect(client.call()).rejects.toThrow(/Session not found/);
    expect(services.sessions.size).toBe(100);
    const lines = () => auditOf(at.gateway, 'mcp_session_evicted');
    await until('the audit of the evictions', () => lines().length === 40);
    expect(lines()[0]).toMatchObject({
      subjects: { user_id: 'alice' },
      metadata: { session: expect.stringMatching(/^[0-9a-f]{16}$/) },
      data: { reason: 'principal' },
    });
    expect(at.gateway.log()).toContain('a session was evicted for another');
    expect(await metricsOf(at.gateway)).toContain('vmcp_sessions_evicted_total{reason="principal"} 40');
  }, 120_000);

  it('gets an error at HTTP 200 for another session within the first minute, which leaves no session', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url }, { limits: { sessions_per_principal: 2 }, ...AUDIT });
    const clients = [await SessionClient.open(gateway.url), await SessionClient.open(gateway.url)];
    const begun = backend.counts.get('initialize');
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const refused = await send(
      gateway.url,
      'POST',
      {},
      JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'initialize', params }),
    );
    expect(refused.status).toBe(200);
    expect(refused.headers['mcp-session-id']).toBeUndefined();
    expect(refused.messages).toMatchObject([
      { id: 7, error: { data: { reason: 'too_many_sessions', retryAfterMs: expect.any(Number) } } },
    ]);
    const { retryAfterMs } = refused.answer.error?.data ?? {};
    expect(Number(retryAfterMs)).toBeGreaterThanOrEqual(1_000);
    expect(Number(retryAfterMs)).toBeLessThanOrEqual(60_000);
    expect(gateway.runtime.gateway.services.sessions.size).toBe(2);
    expect(backend.counts.get('initialize')).toBe(begun);
    for (const client of clients) expect((await client.request('ping')).status).toBe(200);
    for (const connect of [connectOldClient, connectNewClient])
      await expect(connect(new URL(gateway.url))).rejects.toThrow(/Too many sessions are open/);
    await until('the audit of the refusals', () => auditOf(gateway, 'mcp_initialize').length === 5);
    expect(auditOf(gateway, 'mcp_initialize').at(-1)).toMatchObject({ outcome: 'denied' });
  });
});

describe('anonymous callers', () => {
  const TRUSTED = { trusted_proxies: ['127.0.0.1/32'] };
  const at = (address: string) => ({ 'x-forwarded-for': address });

  it('count by address if sessions_per_principal is configured', async () => {
    const gateway = await gatewayTo({}, { limits: { sessions_per_principal: 2 }, ...TRUSTED });
    const clients = [];
    for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2'])
      clients.push(await SessionClient.open(gateway.url, at(address)));
    for (const address of ['192.0.2.1', '192.0.2.2'])
      await expect(SessionClient.open(gateway.url, at(address))).rejects.toThrow(/Too many sessions/);
    for (const client of clients) expect((await client.request('ping')).status).toBe(200);
    // A session stays valid when its client's address changes.
    const moved = { ...clients[0]!.headers, ...at('192.0.2.9') };
    expect((await send(gateway.url, 'POST', moved, clients[0]!.message('ping'))).status).toBe(200);
  });

  it('count by their own address in spite of forged headers, and by the /64 of an IPv6 address', async () => {
    const limits = { sessions_per_principal: 2 };
    const [direct, behind] = [await gatewayTo({}, { limits }), await gatewayTo({}, { limits, ...TRUSTED })];
    const opened = async ({ url }: typeof direct, address: string) => (await SessionClient.open(url, at(address))).url;
    for (const address of ['192.0.2.1', '192.0.2.2']) expect(await opened(direct, address)).toBe(direct.url);
    await expect(opened(direct, '192.0.2.3')).rejects.toThrow(/Too many sessions/);
    for (const address of ['2001:db8::1', '2001:db8::2']) expect(await opened(behind, address)).toBe(behind.url);
    await expect(opened(behind, '2001:db8::3')).rejects.toThrow(/Too many sessions/);
    expect(await opened(behind, '2001:db8:0:1::1')).toBe(behind.url);
  });

  it('have the limit of the replica without sessions_per_principal', async () => {
    const gateway = await gatewayTo({}, { limits: { sessions_per_replica: 120 } });
    const clients = [];
    for (let nr = 0; nr < 120; nr++) clients.push(await SessionClient.open(gateway.url));
    for (const client of clients) expect((await client.request('ping')).status).toBe(200);
    await expect(SessionClient.open(gateway.url)).rejects.toThrow(/Too many sessions/);
  });
});
