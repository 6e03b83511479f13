import { afterEach, describe, expect, it } from '@jest/globals';
import { residentBytes } from '../bench/cpu-time.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { sendModern, SessionClient } from '../gateway/session-client.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';

afterEach(closeAll);

const MEBIBYTE = 1_048_576;
const MEMBER = 'io.modelcontextprotocol/clientCapabilities';
const VERSION = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };

describe('a client that declares other capabilities with each request', () => {
  it.each([
    [
      '2026-07-28',
      (url: string, capabilities: object) =>
        sendModern(url, 'tools/list', { _meta: { ...VERSION, [MEMBER]: capabilities } }),
    ],
    [
      '2025-11-25',
      async (url: string, capabilities: object) =>
        (await SessionClient.open(url, {}, capabilities)).request('tools/list'),
    ],
  ])(
    'makes the runtime keep one list, not hundreds (%s)',
    async (_, list) => {
      const backend = closing(await servePlain({ tools: 2_000 }));
      const gateway = await startGateway({
        incoming: { type: 'anonymous' },
        backends: [{ name: 'a', transport: 'streamable-http', url: backend.url }],
      });
      closing({ close: () => gateway.stop() });
      const ask = async (nr: number) => {
        const { answer, text } = await list(gateway.url, { experimental: { x: { nr } } });
        expect(answer.result?.tools).toHaveLength(2_000);
        return text.length;
      };
      const size = await ask(0);
      for (let nr = 1; nr < 40; nr += 1) await ask(nr);
      const before = residentBytes(gateway.pid);
      for (let nr = 40; nr < 240; nr += 1) await ask(nr);
      // One copy for each request would take at least 200 times the size.
      expect(200 * size).toBeGreaterThan(80 * MEBIBYTE);
      expect(residentBytes(gateway.pid) - before).toBeLessThan(80 * MEBIBYTE);
    },
    120_000,
  );
});
