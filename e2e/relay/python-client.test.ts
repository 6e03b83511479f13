import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../gateway/until.ts';
import { PYTHON, PYTHON_INSTALLED } from '../sdk-servers/python-sdk.ts';
import { startSdkServer, type Sdk } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const CLIENT = join(import.meta.dirname, '..', 'sdk-servers', 'python-client.py');
const run = promisify(execFile);
const describePython = existsSync(PYTHON_INSTALLED) ? describe : describe.skip;

describePython.each<[sdk: Sdk, store: string, eventStore: boolean]>([
  ['old', 'no event store', false],
  ['old', 'an event store', true],
  ['new', 'no event store', false],
  ['new', 'an event store', true],
])('the client of the Python SDK at a backend of the %s SDK with %s', (sdk, _store, eventStore) => {
  it('lists, calls, answers a question, and cancels a call, which ends everywhere', async () => {
    const server = await startSdkServer(sdk, { eventStore });
    closing({ close: server.stop });
    const gateway = await gatewayTo({ a: server.url });
    // The Python client waits for all ends, also for that of the cancelled call at the backend.
    const { stdout } = await run(PYTHON, [CLIENT, gateway.url, 'a_'], { timeout: 120_000 });
    const seen = JSON.parse(stdout) as Record<'tools' | 'echoed' | 'elicited' | 'afterwards', unknown>;
    expect(seen.tools).toEqual(expect.arrayContaining(['a_echo', 'a_patient', 'a_elicit']));
    expect(seen).toMatchObject({ echoed: 'first', elicited: expect.stringContaining('Ada'), afterwards: 'second' });
    await until('its places', () => gateway.runtime.gateway.services.backends.get('a')?.running === 0);
  });
});
