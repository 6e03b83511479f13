import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { isUnfinished } from '#lib/files/write-file';
import { locateState } from '#local/state-folder';
import { LocalSecrets } from '#management/secrets/local-secrets';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server } from '../local/manifests.ts';
import { eventually, makeWorkplace } from '../local/run-vmcp.ts';
import { callApi } from './use-api.ts';

const ENVIRONMENT = { VMCP_SECRETS_PASSWORD: 'correct horse' };
/** Makes the file write the longest part of a change, so that the test can stop the process during the write. */
const FILLING = 'x'.repeat(60_000);
const MANY = 12;
const Keys = z.object({ keys: z.array(z.object({ key: z.string() })) });

it('secrets stay those of before or after a write of the operator that kill -9 ends', async () => {
  const place = makeWorkplace();
  place.manifest('server.yaml', server('demo', await findFreePort()));
  const address = join(place.path, '.vmcp/management-address');
  const folder = join(place.path, '.vmcp/secrets');
  const halves = () => readdirSync(folder).filter(isUnfinished);
  const open = async () => {
    rmSync(address, { force: true });
    const running = place.start(['up', 'manifests'], ENVIRONMENT);
    await eventually(() => existsSync(address), Boolean);
    return running;
  };
  try {
    const first = await open();
    const done = async (method: string, path: string, body: unknown) =>
      expect((await callApi(place, method, path, body)).status).toBe(method === 'PUT' ? 200 : 201);
    await done('POST', '/secrets', { provider_type: 'encrypted' });
    for (let nr = 0; nr < MANY; nr += 1)
      await done('POST', '/secrets/default/keys', { key: `KEPT.${nr}`, value: FILLING });
    await done('POST', '/secrets/default/keys', { key: 'CHANGED', value: `0 ${FILLING}` });

    let answered = 0;
    const ended = (async () => {
      for (;;) {
        const body = { value: `${answered + 1} ${FILLING}` };
        const answer = await callApi(place, 'PUT', '/secrets/default/keys/CHANGED', body).catch(() => undefined);
        if (answer?.status !== 200) return;
        answered += 1;
      }
    })();
    // Unless the process stops with half a file on the disk, the test proves nothing.
    const until = Date.now() + 60_000;
    while (halves().length === 0 && Date.now() < until) {
      first.signal('SIGCONT');
      await sleep(1);
      first.signal('SIGSTOP');
      await sleep(2);
    }
    expect(halves()).toHaveLength(1);
    first.signal('SIGKILL');
    await first.ended;
    await ended;

    const stored = new LocalSecrets({ state: locateState(join(place.path, '.vmcp')), environment: ENVIRONMENT });
    const values = await stored.read('default', ['CHANGED', 'KEPT.0', 'KEPT.11']);
    expect([`${answered} ${FILLING}`, `${answered + 1} ${FILLING}`]).toContain(values.get('CHANGED'));
    expect([values.get('KEPT.0'), values.get('KEPT.11')]).toEqual([FILLING, FILLING]);

    const second = await open();
    const told = Keys.parse(await (await callApi(place, 'GET', '/secrets/default/keys?limit=100')).json());
    expect(told.keys).toHaveLength(MANY + 1);
    await done('PUT', '/secrets/default/keys/CHANGED', { value: 'the last' });
    expect((await stored.read('default', ['CHANGED'])).get('CHANGED')).toBe('the last');
    expect(halves()).toEqual([]);
    second.signal('SIGTERM');
    await second.ended;
  } finally {
    await place.close();
  }
}, 120_000);
