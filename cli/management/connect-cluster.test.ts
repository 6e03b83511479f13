import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { diff } from '../diff.ts';
import { contextWith } from '../testdata/context-with.ts';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

let home: OwnHome;
let kubeconfig: string;
beforeEach(() => {
  home = makeHome();
  kubeconfig = join(home.path, 'kubeconfig');
  const clusters = [{ name: 'away', cluster: { server: 'https://127.0.0.1:1' } }];
  const users = [{ name: 'somebody', user: { token: 'hunter2' } }];
  const contexts = [{ name: 'away', context: { cluster: 'away', user: 'somebody' } }];
  const config = { apiVersion: 'v1', kind: 'Config', clusters, users, contexts, 'current-context': 'away' };
  writeFileSync(kubeconfig, stringify(config));
});
afterEach(() => home.close());

describe.each([[['list']], [['purge', 'tools', '--yes']]])('vmcp %j on a cluster', (command) => {
  const vmcp = (...more: string[]) => home.withoutFolder([...command, ...more]);

  it('prints the remedy for a cluster that does not answer', async () => {
    const told = await vmcp('--kubeconfig', kubeconfig);
    expect([told.code, told.out, told.err]).toEqual([
      3,
      '',
      expect.stringMatching(/^[^\n]*https:\/\/127\.0\.0\.1:1 does not answer: [^\n]*--context[^\n]*\n$/),
    ]);
    expect(told.err).not.toContain('hunter2');
  });

  it.each([
    ['a context that is not there', () => ['--kubeconfig', kubeconfig, '--context', 'nowhere'], 'use one of away'],
    ['no kubeconfig', () => ['--kubeconfig', join(home.path, 'none')], 'name a file that can be read'],
  ])('refuses %s', async (_what, args, said) => {
    expect(await vmcp(...args())).toMatchObject({ code: 1, err: expect.stringContaining(said) });
  });
});

it('vmcp diff prints the remedy for a cluster that does not answer', async () => {
  const folder = join(home.path, 'wanted');
  mkdirSync(folder);
  const group = 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: dev}\nspec: {}\n';
  writeFileSync(join(folder, 'group.yaml'), group);
  const flags = { runtimeImage: 'x', stdioAttach: true, allowHostPaths: false, imagePullSecret: [] };
  const options = { kubeconfig, namespace: '', output: 'table' as const, ...flags };
  const context = contextWith({});
  const away = /^https:\/\/127\.0\.0\.1:1 does not answer: .*--context/;
  await expect(diff(folder, options, context)).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringMatching(away),
  });
  await expect(diff(folder, { ...options, context: 'nowhere' }, context)).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringContaining('use one of away'),
  });
});
