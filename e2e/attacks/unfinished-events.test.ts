import { afterEach, describe, expect, it } from '@jest/globals';
import { residentBytes } from '../bench/cpu-time.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import type { Intercept } from '../fakes/mcp/serve.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';

afterEach(closeAll);

const MEBIBYTE = 1_048_576;
const SESSIONS = 200;
/** Fewer bytes than a call may hold before the runtime counts them. */
const UNFINISHED = `data: ${'x'.repeat(1_000_000)}`;

describe('a backend that begins a large event on the stream of each session', () => {
  it('fills no more memory than the limit for large messages', async () => {
    let streams = 0;
    const intercept: Intercept = (request, response) => {
      if (request.method !== 'GET') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(UNFINISHED);
      streams += 1;
      return true;
    };
    const backend = closing(await servePlain({ tools: 1, intercept }));
    const gateway = await startGateway({
      incoming: { type: 'anonymous' },
      backends: [{ name: 'a', transport: 'streamable-http', url: backend.url }],
      limits: { buffered_bytes: 16 * MEBIBYTE },
    });
    closing({ close: () => gateway.stop() });
    const open = async () => {
      const client = await SessionClient.open(gateway.url);
      await client.call('a_tool_0', { text: 'x' });
      closing(await client.stream());
      return client;
    };
    await open();
    await until('its stream', () => streams === 1);
    const before = residentBytes(gateway.pid);
    for (let nr = 1; nr < SESSIONS; nr += 1) await open();
    await until('their streams', () => streams === SESSIONS);
    const last = await open();
    expect((await last.call('a_tool_0', { text: 'x' })).answer.result).toBeDefined();
    expect(residentBytes(gateway.pid) - before).toBeLessThan(120 * MEBIBYTE);
  }, 120_000);
});
