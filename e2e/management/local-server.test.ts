import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server, whoami } from '../local/manifests.ts';
import { makeWorkplace } from '../local/run-vmcp.ts';
import { type RunningApi, useApi } from './use-api.ts';

let api: RunningApi;
const manifests = async () => ({
  'server.yaml': server('demo', await findFreePort()),
  'whoami.yaml': whoami('whoami', 'demo', await findFreePort()),
});

beforeAll(async () => {
  api = await useApi(await manifests());
});
afterAll(() => api.close());

describe('vmcp up', () => {
  it('serves the management API on the loopback interface, on the next free port of 4485, 4495, …', async () => {
    const { hostname, port } = new URL(api.url);
    expect(hostname).toBe('127.0.0.1');
    expect((Number(port) - 4485) % 10).toBe(0);
    const other = await useApi(await manifests());
    try {
      expect(Number(new URL(other.url).port)).toBeGreaterThan(4485);
      expect(new URL(other.url).port).not.toBe(port);
      const strange = await fetch(`${other.url}/version`, { headers: { authorization: `Bearer ${api.token}` } });
      expect(strange.status).toBe(401);
    } finally {
      await other.close();
    }
  });

  it('keeps address and token in files that only their owner can read', async () => {
    for (const name of ['management-address', 'management-token'])
      expect(statSync(join(api.place.path, '.vmcp', name)).mode & 0o777).toBe(0o600);
    expect(api.token).toMatch(/^[\w-]{43}$/);
    expect((await api.call('GET', '/version')).status).toBe(200);
  });

  it('removes the files when it ends', async () => {
    const place = makeWorkplace();
    for (const [name, text] of Object.entries(await manifests())) place.manifest(name, text);
    expect((await place.run(['up', 'manifests', '--detach', '--timeout', '60s'])).code).toBe(0);
    expect(existsSync(join(place.path, '.vmcp/management-token'))).toBe(true);
    await place.run(['down']);
    for (const name of ['management-address', 'management-token'])
      expect(existsSync(join(place.path, '.vmcp', name))).toBe(false);
    await place.close();
  });
});
