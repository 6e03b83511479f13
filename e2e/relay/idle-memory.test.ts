import { afterEach, describe, expect, it } from '@jest/globals';
import { cpuMicros } from '../bench/cpu-time.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from './gateway-to.ts';

afterEach(closeAll);

/** CPU microseconds, above the share of a minute after which a collection is worth its cost. */
const WORK_MICROS = 4_000_000;
const MINUTES = 5;

describe('the runtime', () => {
  it(
    'collects all garbage when it is idle after work',
    async () => {
      const gateway = await startGateway(
        { incoming: { type: 'anonymous' }, backends: [] },
        { nodeOptions: ['--trace-gc'] },
      );
      closing({ close: gateway.stop });
      const client = await SessionClient.open(gateway.url);
      const before = cpuMicros(gateway.pid);
      while (cpuMicros(gateway.pid) - before < WORK_MICROS)
        await Promise.all(Array.from({ length: 20 }, () => client.request('ping')));
      // V8 logs a collection in this way if the program requested it.
      const hasCollected = () => gateway.output().includes('testing; GC in old space requested');
      for (let minute = 0; minute < MINUTES && !hasCollected(); minute++)
        await until('a collection', hasCollected).catch(() => undefined);
      expect(hasCollected()).toBe(true);
    },
    (MINUTES + 1) * 60_000,
  );
});
