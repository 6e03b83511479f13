import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#operator/testdata/manual-clock';
import type { Manifest } from '#operator/snapshot';
import { CurrentFolderContent } from './current-folder-content.ts';
import { type SecretsSource, StoredSecrets } from './stored-secrets.ts';

const manifest = (namespace: string, spec: unknown): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name: 'a', namespace },
  spec,
});
const naming = (key: string, namespace = 'default', name = 'vmcp-secrets') =>
  manifest(namespace, { secrets: [{ name, key, targetEnvName: 'X' }] });

let folder: string;
let clock: ManualClock;
let asked: [string, readonly string[]][];
let kept: Record<string, string>;
let tell: () => void;
let stored: StoredSecrets;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-stored-'));
  clock = new ManualClock();
  asked = [];
  kept = { A: 'one', B: 'two' };
  const source: SecretsSource = {
    files: [join(folder, 'secrets.encrypted')],
    listen(changed) {
      tell = changed;
      return () => (tell = () => undefined);
    },
    read(namespace, keys) {
      asked.push([namespace, keys]);
      if (kept.locked !== undefined) return Promise.reject(new Error('it is locked'));
      return Promise.resolve(new Map(Object.entries(kept).filter(([key]) => keys.includes(key))));
    },
  };
  stored = new StoredSecrets(source, clock);
});
afterEach(() => {
  stored.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('StoredSecrets', () => {
  it('reads only the secrets that a manifest names', async () => {
    const deep = manifest('team', { remoteAuth: { clientSecretRef: { name: 'vmcp-secrets', key: 'B' } } });
    const other = naming('C', 'other', 'secret-of-the-folder');
    expect(await stored.load([naming('A'), naming('MISSING'), deep, other])).toBe(true);
    expect(asked).toEqual([
      ['default', ['A', 'MISSING']],
      ['team', ['B']],
    ]);
    expect([...stored.values]).toEqual([
      ['default/vmcp-secrets', { A: 'one' }],
      ['team/vmcp-secrets', { B: 'two' }],
    ]);
  });

  it('reads nothing when no manifest names a secret, so that no password is required', async () => {
    expect(await stored.load([manifest('default', { image: 'x' })])).toBe(false);
    expect(asked).toEqual([]);
  });

  it('reports whether values changed', async () => {
    const all = [naming('A')];
    expect([await stored.load(all), await stored.load(all)]).toEqual([true, false]);
    kept.A = 'changed';
    expect([await stored.load(all), await stored.load([])]).toEqual([true, true]);
    expect([...stored.values]).toEqual([]);
  });

  it('keeps its values when a read fails, reports a problem and retries', async () => {
    await stored.load([naming('A')]);
    kept.locked = 'yes';
    let again = 0;
    stored.watch(() => (again += 1));
    expect(await stored.load([naming('A')])).toBe(true);
    expect(stored.values.get('default/vmcp-secrets')).toEqual({ A: 'one' });
    expect(stored.problems).toEqual([
      expect.objectContaining({
        file: join(folder, 'secrets.encrypted'),
        message: 'stored secrets cannot be read: it is locked',
      }),
    ]);
    clock.pass(30_000);
    expect(again).toBe(1);
    delete kept.locked;
    expect(await stored.load([naming('A')])).toBe(true);
    expect(stored.problems).toEqual([]);
  });

  it('reloads when this process changes a secret, and when another process writes the file', () => {
    let again = 0;
    stored.watch(() => (again += 1));
    tell();
    expect(again).toBe(1);
    clock.pass(1000);
    expect(again).toBe(1);
    writeFileSync(join(folder, 'secrets.encrypted'), 'x');
    clock.pass(1000);
    clock.pass(1000);
    expect(again).toBe(2);
    stored.close();
    tell();
    writeFileSync(join(folder, 'secrets.encrypted'), 'xyz');
    clock.pass(5000);
    expect(again).toBe(2);
  });

  it('reads once for many concurrent changes, and returns the latest values', async () => {
    const first = stored.load([naming('A')]);
    const rest = [stored.load([]), stored.load([naming('B')])];
    expect(await Promise.all([first, ...rest])).toEqual([true, true, true]);
    expect(asked).toEqual([['default', ['B']]]);
  });
});

it('prefers the Secret of a manifest over a stored one, key by key', async () => {
  writeFileSync(
    join(folder, 'a.yaml'),
    'apiVersion: v1\nkind: Secret\nmetadata: {name: vmcp-secrets}\nstringData: {A: written}\n',
  );
  await stored.load([naming('A'), naming('B')]);
  const folderContent = new CurrentFolderContent(folder, stored);
  expect(folderContent.refresh()).toEqual([{ kind: 'Secret', namespace: 'default', name: 'vmcp-secrets' }]);
  expect(folderContent.value.secrets.get('default/vmcp-secrets')).toEqual({ A: 'written', B: 'two' });
});
