import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { locateState } from '#local/state-folder';
import { deleteWorkloads } from '#management/operations/workloads';
import { openFolderApi } from './open-folder-api.ts';
import { contextWith } from '../testdata/context-with.ts';

it('completes background work before a command without a server ends', async () => {
  const path = mkdtempSync(join(tmpdir(), 'vmcp-folder-api-'));
  const folder = join(path, 'manifests');
  mkdirSync(folder);
  const names = ['a', 'b', 'c'];
  for (const name of names)
    writeFileSync(
      join(folder, `${name}.yaml`),
      `apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: ${name}}\nspec: {image: x}\n`,
    );
  const context = contextWith({ state: locateState(join(path, 'state')) });
  mkdirSync(context.state.path);
  try {
    const api = openFolderApi(folder, { state: context.state.path }, context, new AbortController().signal);
    const { body } = await api.call(deleteWorkloads, { body: { names } });
    expect(body.accepted).toEqual(names);
    expect(names.some((name) => existsSync(join(folder, `${name}.yaml`)))).toBe(true);
    await api.close();
    expect(names.filter((name) => existsSync(join(folder, `${name}.yaml`)))).toEqual([]);
  } finally {
    rmSync(path, { recursive: true });
  }
});
