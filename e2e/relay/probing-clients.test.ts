import { afterEach, describe, expect, it } from '@jest/globals';
import { behave } from '../fakes/backend/behaviours.ts';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { send, sendModern, SessionClient } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const EVENTS = { accept: 'text/event-stream' };

describe("a client that probes the endpoint's revision", () => {
  it('gets both revisions from server/discover if a backend speaks the older one only', async () => {
    const older = closing(await serveMisbehaving('html', { tools: 1, methods: ['server/discover'] }));
    const gateway = await gatewayTo({ older: older.url });
    const { answer, status } = await sendModern(gateway.url, 'server/discover');
    expect(status).toBe(200);
    expect(answer.result?.supportedVersions).toEqual(expect.arrayContaining(['2026-07-28', '2025-11-25']));
    expect(await (await SessionClient.open(gateway.url)).toolNames()).toEqual(['older_tool_0']);
  });

  it("gets the same answer while such a backend refuses the gateway's credential", async () => {
    let refuses = false;
    const knobs = { bytes: 0, delayMs: 0, redirectTo: '' };
    const older = closing(
      await servePlain({
        intercept: (_request, response, body) => {
          if (refuses) behave('unauthorized')(response, {}, knobs);
          else if (body.includes('"server/discover"')) behave('html')(response, {}, knobs);
          else return false;
          return true;
        },
      }),
    );
    const operational = { failure_handling: { health_check_interval: '50ms' } };
    const gateway = await gatewayTo({ older: older.url }, { operational });
    const phase = () => gateway.runtime.gateway.services.backends.get('older')?.health.phase;
    await until('the first probe', () => phase() === 'ready');
    refuses = true;
    await until('the refusal', () => phase() === 'degraded');
    const { answer } = await sendModern(gateway.url, 'server/discover');
    expect(answer.result?.supportedVersions).toEqual(expect.arrayContaining(['2026-07-28', '2025-11-25']));
  });

  it('gets an answer at once to GET before it has a session', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    expect((await send(gateway.url, 'GET', EVENTS)).status).toBe(400);
    expect((await send(gateway.url, 'GET', { ...EVENTS, 'mcp-session-id': 'made-up' })).status).toBe(404);
    expect(await (await SessionClient.open(gateway.url)).toolNames()).toEqual(['a_tool_0']);
  });

  it('may initialize twice and abandon the first session', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const [left, used] = [await SessionClient.open(gateway.url), await SessionClient.open(gateway.url)];
    expect(left.headers['mcp-session-id']).not.toBe(used.headers['mcp-session-id']);
    expect((await used.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    expect(await left.toolNames()).toEqual(['a_tool_0']);
  });
});
