import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { locateState } from '#local/state-folder';
import { listSecrets, setUpSecrets } from '#management/operations/secrets';
import { LocalSecrets } from '#management/secrets/local-secrets';
import { servicesWith } from '#management/testdata/services-with';
import { inProcessApi } from '../management/in-process-api.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { storeSecrets } from './store-secrets.ts';

let home: string;
let environment: NodeJS.ProcessEnv;
let secrets: LocalSecrets;
let api: ManagementApi;
let said: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'vmcp-home-'));
  environment = { HOME: home };
  said = '';
  secrets = new LocalSecrets({ state: locateState(join(home, '.vmcp')), environment });
  api = inProcessApi({
    services: servicesWith({ secrets: secrets.in('default') }),
    place: 'here',
    running: false,
    onFailure: () => undefined,
    close: () => Promise.resolve(),
    stop: new AbortController().signal,
  });
});
afterEach(() => rmSync(home, { recursive: true }));

const store = (wanted: Record<string, { value: string } | { key: string }>) =>
  storeSecrets(
    api,
    'github',
    new Map(Object.entries(wanted)),
    { environment, err: { write: (text: string) => (said += text) }, typed: (command) => `vmcp ${command}` },
    'encrypted',
  );
const keys = async () => (await api.call(listSecrets)).body.keys.map(({ key }) => key);
const password = () => join(home, '.config/vmcp/secrets-password');

describe('storeSecrets', () => {
  it('creates a password for the owner alone, reports it, and encrypts the secrets', async () => {
    const { references } = await store({ TOKEN: { value: 'hunter2' } });
    expect(Object.fromEntries(references)).toEqual({ TOKEN: 'vmcp-secrets/github.TOKEN' });
    expect((await secrets.read('default', ['github.TOKEN'])).get('github.TOKEN')).toBe('hunter2');
    expect(statSync(password()).mode & 0o777).toBe(0o600);
    expect(said).toContain(password());
    expect(said).not.toContain(readFileSync(password(), 'utf8').trim());
  });

  it('keeps an existing password, and creates none without secrets', async () => {
    await store({});
    expect(existsSync(password())).toBe(false);
    environment.VMCP_SECRETS_PASSWORD = 'a password of mine';
    await store({ TOKEN: { value: 'x' } });
    expect([existsSync(password()), said]).toEqual([false, '']);
  });

  it('keeps the secrets of an earlier workload of that name, and reports them', async () => {
    for (const value of ['old', 'new', 'newest']) await store({ TOKEN: { value } });
    const { references, undo } = await store({ TOKEN: { value: 'refused' } });
    expect(references.get('TOKEN')).toBe('vmcp-secrets/github.TOKEN-4');
    await undo();
    const stored = await secrets.read('default', ['github.TOKEN', 'github.TOKEN-2', 'github.TOKEN-3']);
    expect([...stored.values()]).toEqual(['old', 'new', 'newest']);
    expect(await keys()).toHaveLength(3);
    expect(said).toContain(
      'github.TOKEN stays as it is; where nothing needs it any more: vmcp secret rm github.TOKEN\n',
    );
  });

  it('accepts a secret that is stored under another name', async () => {
    await store({ TOKEN: { value: 'x' } });
    const { references } = await store({ OTHER: { key: 'github.TOKEN' } });
    expect(references.get('OTHER')).toBe('vmcp-secrets/github.TOKEN');
    await expect(store({ OTHER: { key: 'nowhere' } })).rejects.toMatchObject({
      exitCode: 6,
      message: 'there is no stored secret nowhere (there is: github.TOKEN)',
    });
  });

  it('removes the new secrets when one cannot be stored or the workload is refused', async () => {
    await expect(store({ A: { value: 'x' }, B: { key: 'nowhere' } })).rejects.toMatchObject({ exitCode: 6 });
    expect(await keys()).toEqual([]);
    const { undo } = await store({ A: { value: 'x' } });
    expect(await keys()).toEqual(['github.A']);
    await undo();
    expect(await keys()).toEqual([]);
  });

  it('reports the refusal of a read-only provider', async () => {
    await api.call(setUpSecrets, { body: { provider_type: 'environment' } });
    await expect(store({ TOKEN: { value: 'x' } })).rejects.toMatchObject({ code: 'provider_read_only', exitCode: 1 });
  });
});
