import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { openStream, send, sendStateless, SessionClient, type Reply } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

type RateLimits = NonNullable<RunConfigDocument['rate_limiting']>;
type Rule = NonNullable<RateLimits['rules']>[number];

const ARGS = { text: 'x' };
/** So long that nothing comes back while a test runs. */
const HOUR = '1h';
const globally: Rule = { requests: 2, per: HOUR, scope: 'global' };
const eachUser: Rule = { requests: 2, per: HOUR, scope: 'user' };

/** A gateway with these limits in front of one backend with two tools; `calls`: those that reached it. */
async function arrange(rate_limiting: RateLimits, more: Partial<RunConfigDocument> = {}) {
  const backend = closing(await servePlain({ tools: 2 }));
  const config = { rate_limiting, audit_config: { enabled: true }, ...more };
  const gateway = await gatewayTo({ a: backend.url }, config);
  return { backend, gateway, config, calls: () => backend.counts.get('tools/call') ?? 0 };
}

const told = ({ status, answer }: Reply) => (status === 200 && answer.result ? 'passed' : answer.error?.code);

async function times(count: number, call: () => Promise<Reply>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let one = 0; one < count; one++) seen.push(told(await call()));
  return seen;
}

describe('a call beyond its rate limit', () => {
  it('is answered with 429, when to come again, and a JSON-RPC error, and reaches no backend', async () => {
    const { gateway, calls } = await arrange({ rules: [globally] });
    const client = await SessionClient.open(gateway.url);
    expect(await times(2, () => client.call('a_tool_0', ARGS))).toEqual(['passed', 'passed']);
    const { status, headers, answer } = await client.call('a_tool_0', ARGS);
    expect([status, calls()]).toEqual([429, 2]);
    const seconds = Number(headers['retry-after']);
    expect(seconds).toBeGreaterThan(1700);
    expect(seconds).toBeLessThanOrEqual(1800);
    expect(answer).toMatchObject({
      id: 3,
      error: {
        code: 429,
        message: `Too many requests: try again in ${seconds} s`,
        data: { retryAfter: seconds, scope: 'global' },
      },
    });
  });

  it('is answered so in the era without sessions too', async () => {
    const { gateway, calls } = await arrange({ rules: [globally] });
    const call = () => sendStateless(gateway.url, 'tools/call', { name: 'a_tool_0', arguments: ARGS });
    expect(await times(3, call)).toEqual(['passed', 'passed', 429]);
    const { status, headers, answer } = await call();
    expect([status, headers['retry-after'], calls()]).toEqual([429, String(answer.error?.data?.retryAfter), 2]);
  });

  it('is told so on the stream of a client of the HTTP+SSE transport', async () => {
    const { gateway } = await arrange({ rules: [{ ...globally, requests: 1 }] }, { proxy_mode: 'sse' });
    const stream = closing(await openStream(`${gateway.origin}/sse`, {}));
    await eventually(
      () => String(stream.events().length),
      (count) => count === '1',
    );
    const at = `${gateway.origin}/${stream.events()[0]?.data}`;
    const say = (message: object) => send(at, 'POST', {}, JSON.stringify({ jsonrpc: '2.0', ...message }));
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo };
    await say({ id: 0, method: 'initialize', params });
    await stream.waitFor(({ id }) => id === 0);
    await say({ method: 'notifications/initialized' });
    const call = async (id: number) => {
      await say({ id, method: 'tools/call', params: { name: 'a_tool_0', arguments: ARGS } });
      return stream.waitFor((message) => message.id === id);
    };
    expect(await call(1)).toMatchObject({ result: { content: [{ type: 'text' }] } });
    const { error } = await call(2);
    expect(error).toMatchObject({ code: 429, data: { scope: 'global', retryAfter: expect.any(Number) } });
  });

  it('is audited and counted by the kind of its limit', async () => {
    const { gateway } = await arrange({ rules: [{ ...globally, requests: 1 }] });
    const client = await SessionClient.open(gateway.url);
    await times(3, () => client.call('a_tool_0', ARGS));
    const isAudited = (log: string) =>
      /"type":"mcp_tool_call".*"outcome":"denied".*"name":"a_tool_0".*"code":"rate_limited".*"limit":"global"/.test(
        log,
      );
    await eventually(() => gateway.log(), isAudited);
    const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/metrics`, 'GET', {});
    expect(text).toContain('vmcp_rate_limited_total{scope="global",outcome="refused"} 2');
  });
});
