import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Pool } from 'undici';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';

afterEach(closeAll);

const SESSIONS = 10_000;
/** Number of sessions that the runtime evicts for new ones. */
const EVICTED = 10;
const PARALLEL = 16;
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Returns the bytes of the heap in use, including those of the test and of the backend. */
function heapInUse(): number {
  for (let i = 0; i < 3; i++) collect();
  return process.memoryUsage().heapUsed;
}

/** Returns a client that sends many requests quickly and keeps no response. */
function clientOf(origin: string) {
  const pool = new Pool(origin, { connections: PARALLEL });
  closing({ close: () => pool.destroy() });
  const post = async (headers: Record<string, string>, method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await pool.request({ path: '/mcp', method: 'POST', headers: { ...HEADERS, ...headers }, body });
    const { 'mcp-session-id': session } = answer.headers;
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      session: typeof session === 'string' ? Buffer.from(session).toString() : '',
      text,
    };
  };
  const clientInfo = { name: 'idle', version: '1' };
  return {
    open: async () => {
      const { session } = await post({}, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
      return session;
    },
    ask: (session: string, method: string, params = {}) =>
      post({ 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }, method, params),
  };
}

describe('the session store', () => {
  it('keeps ten thousand idle sessions in bounded memory, and evicts the longest idle one without delay for other sessions', async () => {
    let [ended, isHeld] = [0, false];
    const held: (() => unknown)[] = [];
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, response) => {
          if (request.method !== 'DELETE') return false;
          ended++;
          if (!isHeld) return false;
          held.push(() => response.writeHead(204).end());
          return true;
        },
      }),
    );
    const gateway = await gatewayTo(
      { a: backend.url },
      {
        limits: { sessions_per_principal: 100_000 },
        // Each probe opens and ends a session at the backend, which the test would count.
        operational: { failure_handling: { health_check_interval: '1h' } },
      },
      { evictableAfter: 0 },
    );
    const client = clientOf(gateway.origin);
    const call = (session: string) => client.ask(session, 'tools/call', { name: 'a_tool_0', arguments: { text: 'x' } });
    const { sessions } = gateway.runtime.gateway.services;
    const [used, oldest] = [await client.open(), [] as string[]];
    while (oldest.length < EVICTED) oldest.push(await client.open());
    for (const session of oldest) await call(session);
    const next = await client.open();
    for (let i = 0; i < 500; i++) await client.open();
    const [before, counted] = [heapInUse(), sessions.size];
    let left = SESSIONS - counted;
    const openMany = async () => {
      while (left-- > 0) await client.open();
    };
    await Promise.all(Array.from({ length: PARALLEL }, openMany));
    expect(sessions.size).toBe(SESSIONS);
    expect((heapInUse() - before) / (SESSIONS - counted)).toBeLessThan(2_048);

    await client.ask(used, 'ping');
    ended = 0;
    isHeld = true;
    const asked = performance.now();
    const newest: string[] = [];
    while (newest.length < EVICTED) newest.push(await client.open());
    // Waiting for the evicted session's end at the backend would take 2 s each.
    expect(performance.now() - asked).toBeLessThan(EVICTED * 1_000);
    expect(sessions.size).toBe(SESSIONS);
    for (const session of oldest) expect((await client.ask(session, 'ping')).status).toBe(404);
    for (const session of [used, next, ...newest]) expect((await call(session)).text).toContain('"content"');
    await until('the end of their sessions at the backend', () => ended >= EVICTED);
    expect(ended).toBe(EVICTED);
    for (const goOn of held) goOn();
  });
});
