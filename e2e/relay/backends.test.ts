import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { reserveAbsent, serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { type Intercept, serveFake } from '../fakes/mcp/serve.ts';
import { followTools } from '../gateway/follow-tools.ts';
import { send, sendModern, SessionClient, type Rpc } from '../gateway/session-client.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { eventually } from '../local/run-vmcp.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

interface Told {
  name: string;
  phase: string;
  message: string;
  tools: number | null;
  last_probe: string | null;
  last_transition_time: string;
}
const backendsOf = async (gateway: ServedGateway) => {
  const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
  return (JSON.parse(text) as { backends: Told[] }).backends;
};
const quick = { health_check_interval: '1s', unhealthy_threshold: 1 };

describe('a restarted backend', () => {
  it('gets its list and its stream back in open sessions, although it has forgotten them', async () => {
    const absent = await reserveAbsent({ tools: 1 });
    await absent.comeBack();
    const gateway = await gatewayTo({ a: absent.url }, { operational: { failure_handling: quick } });
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    const knows = await followTools(stream, () => client.toolNames(), 10_000);
    await knows('a_tool_0');
    await absent.leave();
    await until('it is away', async () => (await backendsOf(gateway))[0]?.phase === 'unavailable');
    // The gateway still shows the last list.
    expect(await client.toolNames()).toEqual(['a_tool_0']);
    const again = await absent.comeBack();
    await knows('a_tool_0');
    // Only a notification makes the gateway list again, because a list is valid for a minute.
    for (let i = 0; i < 50 && (await client.toolNames()).length < 2; i++) {
      again.setTools(2);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await client.toolNames()).toHaveLength(2);
    stream.close();
    await absent.leave();
  });
});

describe('a session that its backend has forgotten', () => {
  it('opens again once for all calls that notice at the same time, and loses none', async () => {
    const absent = await reserveAbsent({ tools: 1 });
    await absent.comeBack();
    const gateway = await gatewayTo({ a: absent.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    await absent.leave();
    const again = await absent.comeBack();
    const replies = await Promise.all(Array.from({ length: 20 }, () => client.call('a_tool_0', { text: 'x' })));
    expect(replies.every(({ answer }) => answer.result !== undefined)).toBe(true);
    expect(again.counts.get('initialize')).toBe(1);
    await absent.leave();
  });

  it('opens again once if one call notices late', async () => {
    const backend = closing(await forgetful());
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const before = backend.forget();
    const late = client.call('a_tool_0', { text: 'late' });
    await sleep(50);
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    expect((await late).answer.result).toBeDefined();
    expect(backend.opened() - before).toBe(1);
  });

  it('subscribes again to the resources of its client', async () => {
    const backend = closing(await forgetful());
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    for (const uri of ['x://1', 'x://2'])
      expect((await client.request('resources/subscribe', { uri })).answer.result).toEqual({});
    await client.request('resources/unsubscribe', { uri: 'x://2' });
    backend.subscribed.length = 0;
    backend.forget();
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    expect(backend.subscribed).toEqual(['x://1']);
  });
});

/** Starts a backend with resources that can forget its sessions. A call whose text is `late` gets its 404 late. */
async function forgetful() {
  const sessions = new Set<string>();
  const subscribed: string[] = [];
  /** Number of sessions for clients, without the gateway's own. */
  let opened = 0;
  const capabilities = { tools: {}, resources: { subscribe: true } };
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo: {} },
    'resources/list': { resources: [1, 2].map((n) => ({ uri: `x://${n}`, name: String(n) })) },
    'resources/templates/list': { resourceTemplates: [] },
    'resources/subscribe': {},
    'resources/unsubscribe': {},
    'tools/call': { content: [] },
    'tools/list': { tools: [{ name: 'tool_0', inputSchema: { type: 'object' } }] },
  };
  const served = await servePlain({
    intercept: (request, response, body) => {
      const { id, method = '', params } = JSON.parse(body || '{}') as Rpc;
      const result = results[method];
      if (!result) return false;
      const headers: Record<string, string> = { 'content-type': 'application/json' };
      if (method === 'initialize') {
        headers['mcp-session-id'] = `s${sessions.size}-${performance.now()}`;
        if (body.includes('"test"')) opened++;
        sessions.add(headers['mcp-session-id']);
      } else if (!sessions.has(String(request.headers['mcp-session-id']))) {
        setTimeout(() => response.writeHead(404).end(), body.includes('late') ? 300 : 0);
        return true;
      }
      if (method === 'resources/subscribe') subscribed.push(String(params?.uri));
      response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      return true;
    },
  });
  return {
    ...served,
    subscribed,
    opened: () => opened,
    forget() {
      sessions.clear();
      return opened;
    },
  };
}

describe('the status', () => {
  it('names the revisions of each backend, and all clients use all backends', async () => {
    const both = closing(await servePlain({ tools: 1 }));
    const older = closing(await serveMisbehaving('html', { tools: 1, methods: ['server/discover'] }));
    const newer = closing(await serveMisbehaving('html', { tools: 1, methods: ['initialize'] }));
    const gateway = await gatewayTo({ both: both.url, older: older.url, newer: newer.url });
    expect(await backendsOf(gateway)).toEqual([
      expect.objectContaining({ name: 'both', phase: 'ready', message: '' }),
      expect.objectContaining({ name: 'older', phase: 'ready', message: '', revisions: ['2025-11-25'] }),
      expect.objectContaining({ name: 'newer', phase: 'ready', message: '', revisions: ['2026-07-28'] }),
    ]);
    const all = ['both_tool_0', 'older_tool_0', 'newer_tool_0'];
    const session = await SessionClient.open(gateway.url);
    expect(await session.toolNames()).toEqual(all);
    const { answer } = await sendModern(gateway.url, 'tools/list');
    expect((answer.result?.tools as { name: string }[]).map(({ name }) => name)).toEqual(all);
    expect((await session.call('newer_tool_0', { text: 'x' })).answer.result).toBeDefined();
    expect((await sendModern(gateway.url, 'tools/call', { name: 'older_tool_0' })).answer.result).toMatchObject({
      resultType: 'complete',
    });
  });

  it('says why a backend is unavailable', async () => {
    const absent = await reserveAbsent();
    const garbage = closing(await serveMisbehaving('garbage', { methods: ['*'] }));
    const gateway = await gatewayTo({ absent: absent.url, garbage: garbage.url });
    expect(await backendsOf(gateway)).toEqual([
      expect.objectContaining({ phase: 'unavailable', message: expect.stringContaining('cannot be reached') }),
      expect.objectContaining({ phase: 'unavailable', message: expect.stringMatching(/initialize/) }),
    ]);
  });
});

describe('the status of a backend', () => {
  const timeOf = (text: string | null) => {
    expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    return Date.parse(text ?? '');
  };

  it('shows the time of the last probe, and the time of the last transition until the next one', async () => {
    const absent = await reserveAbsent({ tools: 1 });
    await absent.comeBack();
    closing({ close: () => absent.leave() });
    const begun = Date.now();
    const gateway = await gatewayTo({ a: absent.url }, { operational: { failure_handling: quick } });
    const told = async () => (await backendsOf(gateway))[0]!;
    const first = await told();
    for (const time of [first.last_probe, first.last_transition_time]) {
      expect(timeOf(time)).toBeGreaterThanOrEqual(begun);
      expect(timeOf(time)).toBeLessThanOrEqual(Date.now());
    }
    const next = await eventually(told, ({ last_probe }) => last_probe !== first.last_probe);
    expect(timeOf(next.last_probe)).toBeGreaterThan(timeOf(first.last_probe));
    expect([next.phase, next.last_transition_time]).toEqual(['ready', first.last_transition_time]);
    await absent.leave();
    const away = await eventually(told, ({ phase }) => phase === 'unavailable');
    expect(timeOf(away.last_transition_time)).toBeGreaterThanOrEqual(timeOf(next.last_probe));
  });
});

describe('partial_failure_mode', () => {
  const failing = { operational: { failure_handling: { partial_failure_mode: 'fail' as const } } };

  it('best_effort omits the items of a failing backend', async () => {
    const good = closing(await servePlain({ tools: 1 }));
    const bad = closing(await serveMisbehaving('serverError', { tools: 1, methods: ['tools/list'] }));
    const gateway = await gatewayTo({ good: good.url, bad: bad.url });
    expect(await (await SessionClient.open(gateway.url)).toolNames()).toEqual(['good_tool_0']);
  });

  it('fail makes a list fail if a backend does not answer, and names the backend', async () => {
    const good = closing(await servePlain({ tools: 1 }));
    const bad = closing(await serveMisbehaving('serverError', { tools: 1, methods: ['tools/list'] }));
    const gateway = await gatewayTo({ good: good.url, bad: bad.url }, failing);
    const client = await SessionClient.open(gateway.url);
    expect((await client.request('tools/list')).answer.error).toMatchObject({ data: { missing: ['bad'] } });
    expect((await sendModern(gateway.url, 'tools/list')).answer.error).toMatchObject({ data: { missing: ['bad'] } });
    expect((await client.call('good_tool_0', { text: 'x' })).answer.result).toBeDefined();
  });

  it('fail makes initialize and lists fail if a backend is unavailable', async () => {
    const good = closing(await servePlain({ tools: 1 }));
    const absent = await reserveAbsent();
    const gateway = await gatewayTo({ good: good.url, away: absent.url }, failing);
    await expect(SessionClient.open(gateway.url)).rejects.toThrow(/backend away cannot be reached/);
    expect((await sendModern(gateway.url, 'tools/list')).answer.error).toMatchObject({
      data: { missing: ['away'] },
    });
  });
});

describe('a backend before its first probe', () => {
  it.each([
    ['fail', 'lets nobody connect before it was asked', /backend late cannot be reached/],
    ['best_effort', 'stops nobody', undefined],
  ] as const)('follows partial_failure_mode %s: it %s', async (partial_failure_mode, _what, refused) => {
    const handling = { partial_failure_mode, health_check_timeout: '1m' };
    const operational = { operational: { failure_handling: handling } };
    const good = closing(await servePlain({ tools: 1 }));
    const late = closing(await serveMisbehaving('hang', { tools: 1, methods: ['*'] }));
    const gateway = await gatewayTo({ good: good.url }, operational);
    // The promise resolves after the probes of all backends, in a minute.
    void gateway.reconfigure(configTo({ good: good.url, late: late.url }, operational));
    const phases = () => gateway.runtime.gateway.services.backends.all.map(({ health }) => health.phase);
    expect(
      await eventually(
        () => Promise.resolve(phases()),
        (found) => found.length === 2,
      ),
    ).toEqual(['ready', 'unknown']);
    if (refused === undefined)
      expect(await (await SessionClient.open(gateway.url)).toolNames()).toEqual(['good_tool_0']);
    else await expect(SessionClient.open(gateway.url)).rejects.toThrow(refused);
  });
});

describe('the circuit breaker', () => {
  it('counts live calls, refuses at once while it is open, and closes after a successful trial', async () => {
    const backend = closing(await serveMisbehaving('serverError', { tools: 1 }));
    const failure_handling = { circuit_breaker: { enabled: true, failure_threshold: 2, timeout: '1s' } };
    const gateway = await gatewayTo({ a: backend.url }, { operational: { failure_handling } });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    for (let i = 0; i < 2; i++) expect((await client.call('a_tool_0', { text: 'x' })).answer.error).toBeDefined();
    const before = backend.counts.get('http');
    for (let i = 0; i < 5; i++) expect((await client.call('a_tool_0', { text: 'x' })).status).toBe(200);
    // Probes continue while calls stop.
    expect((backend.counts.get('http') ?? 0) - (before ?? 0)).toBeLessThan(5);
    backend.behaveLike(undefined);
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
  });
});

/** Starts a backend that answers tool calls. While it holds, calls wait until their release. */
async function holdingBackend() {
  const held: (() => void)[] = [];
  let holds = false;
  const intercept: Intercept = (_request, response, body) => {
    if (!holds || !body.includes('tools/call')) return false;
    const { id } = JSON.parse(body) as { id: unknown };
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } });
    held.push(() => void response.writeHead(200, { 'content-type': 'application/json' }).end(answer));
    return true;
  };
  const backend = closing(await servePlain({ tools: 1, intercept }));
  const hold = () => {
    holds = true;
  };
  const release = () => {
    holds = false;
    for (const answer of held.splice(0)) answer();
  };
  return { url: backend.url, hold, release };
}

describe('the load limit', () => {
  it('refuses calls beyond concurrency and queue at once, for that backend only', async () => {
    const full = await holdingBackend();
    const good = closing(await servePlain({ tools: 1 }));
    const concurrency = { per_backend: 1, queue: 1 };
    const gateway = await gatewayTo({ full: full.url, good: good.url }, { operational: { concurrency } });
    const client = await SessionClient.open(gateway.url);
    const call = (name: string) => client.call(`${name}_tool_0`, { text: 'x' });
    // The session itself has no running request there any more. The request that opens it counts like a call.
    expect((await call('full')).answer.result).toBeDefined();
    const fullOne = gateway.runtime.gateway.services.backends.all.find(({ name }) => name === 'full');
    await until('no call in flight', () => fullOne?.running === 0);
    full.hold();
    const answers: Rpc[] = [];
    const calls = Array.from({ length: 4 }, async () => answers.push((await call('full')).answer));
    await until('the refusals', () => answers.length === 2);
    expect((await call('good')).answer.result).toBeDefined();
    full.release();
    await Promise.all(calls);
    expect(answers.map(({ error }) => error?.data?.reason)).toEqual(['busy', 'busy', undefined, undefined]);
  });

  it('does not count open streams', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url }, { operational: { concurrency: { per_backend: 2, queue: 0 } } });
    const clients = [];
    for (let i = 0; i < 5; i++) clients.push(await SessionClient.open(gateway.url));
    const streams = await Promise.all(clients.map((client) => client.stream()));
    // The requests that open the sessions count like calls, and are over soon. The streams stay open.
    for (const client of clients) {
      const isServed = async () => (await client.call('a_tool_0', { text: 'x' })).answer.result !== undefined;
      await until('a free slot', isServed);
    }
    for (const stream of streams) stream.close();
  });
});

describe('the deadline of a call', () => {
  it('comes from its backend, and ends a silent call', async () => {
    const hanging = closing(await serveMisbehaving('hang', { tools: 1 }));
    const gateway = await gatewayTo(
      { a: hanging.url, b: hanging.url },
      { operational: { timeouts: { default: '30s', per_workload: { a: '300ms' } } } },
    );
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const started = performance.now();
    expect((await client.call('a_tool_0', { text: 'x' })).answer.error).toMatchObject({ data: { reason: 'timeout' } });
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it('starts again with each message of the call', async () => {
    const [every, signs] = [200, 12];
    const lively = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('tools/call')) return false;
          const { id } = JSON.parse(body) as { id: number };
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          let left = signs;
          const timer = setInterval(() => {
            const params = { level: 'info', data: 'at work' };
            const log = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params });
            response.write(`data: ${log}\n\n`);
            if (--left > 0) return;
            clearInterval(timer);
            response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
          }, every);
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: lively.url }, { operational: { timeouts: { default: '1s' } } });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
  });
});

describe('a reused connection', () => {
  it('serves many calls', async () => {
    const sockets = new Set<unknown>();
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, _response, body) => {
          if (body.includes('tools/call')) sockets.add(request.socket);
          return false;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    for (let i = 0; i < 10; i++) await client.call('a_tool_0', { text: 'x' });
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  it('causes no error if the backend closes it during a call that may be repeated', async () => {
    const used = new WeakSet<object>();
    const broken: string[] = [];
    const tool = (name: string, readOnlyHint: boolean) => ({
      name,
      description: name,
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint },
    });
    const backend = closing(
      await serveFake(
        { name: 'closing', tools: () => [tool('look', true), tool('write', false)], call: () => '{"content":[]}' },
        0,
        (request, _response, body) => {
          const isCall = body.includes('tools/call');
          // Ends each call on a connection that has served before, and each call that writes.
          const isWrite = body.includes('"write"');
          if (isCall && (isWrite || used.has(request.socket))) {
            broken.push(isWrite ? 'write' : 'look');
            used.delete(request.socket);
            request.socket.destroy();
            return true;
          }
          used.add(request.socket);
          return false;
        },
      ),
    );
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    expect((await client.call('a_look')).answer.result).toBeDefined();
    expect(broken).toEqual(['look']);
    // The runtime does not repeat a call that may have had an effect. It returns a clear error, not an HTTP error.
    const reply = await client.call('a_write');
    expect(broken).toEqual(['look', 'write']);
    expect(reply.status).toBe(200);
    expect(reply.answer.error).toMatchObject({ data: { reason: 'reset' } });
  });
});
