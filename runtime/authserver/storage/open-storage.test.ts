import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Storage } from '#crds/run-config/storage';
import { ConfigError } from '#runtime/errors';
import { openStorage } from './open-storage.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-storage-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const readSecret = (file: string): string => {
  if (file === 'empty') return '';
  throw new ConfigError(`${file}: there is no such file`);
};
const open = (config: unknown) => {
  const storage: Storage = Storage.parse(config);
  return openStorage(storage, { now: () => 1_700_000_000_000, readSecret });
};
// Port 1 refuses connections, so the storage opens quickly.
const redis = (changes: object) => ({
  type: 'redis',
  redis: { addr: '127.0.0.1:1', key_prefix: 'p:', dial_timeout: '50ms', ...changes },
});

describe('openStorage', () => {
  it.each([
    ['memory', { type: 'memory' }],
    ['sqlite', { type: 'sqlite', file: 'auth.db' }],
    ['redis', redis({})],
  ])('opens %s', async (kind, config) => {
    const storage = await open('file' in config ? { ...config, file: join(folder, 'auth.db') } : config);
    expect(storage.kind).toBe(kind);
    await storage.close();
  });

  it.each([
    ['a password file that is missing', redis({ acl_user_config: { password_file: 'password' } })],
    ['a file of authorities that is missing', redis({ tls: { ca_cert_file: 'ca.pem' } })],
    ['a file of authorities that holds none', redis({ tls: { ca_cert_file: 'empty' } })],
    [
      'a file of authorities of the Sentinels that is missing',
      redis({
        addr: undefined,
        sentinel_tls: { ca_cert_file: 'ca.pem' },
        sentinel_config: { master_name: 'm', sentinel_addrs: ['127.0.0.1:1'] },
      }),
    ],
  ])('rejects %s', async (_, config) => {
    await expect((async () => open(config))()).rejects.toThrow(ConfigError);
  });

  it.each([
    ['an address without a host', { addr: ':6379' }],
    ['an address that is a URL', { addr: 'redis://127.0.0.1:6379' }],
    ['a port above 65535', { addr: '127.0.0.1:65536' }],
    ['a malformed address of a Sentinel', { sentinel_config: { master_name: 'm', sentinel_addrs: ['a b'] } }],
  ])('rejects %s as a problem of the document', (_, changes) => {
    expect(Storage.safeParse(redis({ addr: undefined, ...changes })).error?.message).toContain('write host:port');
  });
});
