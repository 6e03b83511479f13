import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { locateState } from '#local/state-folder';
import type { ClusterFacts } from '#operator/snapshot';
import { contextWith } from './testdata/context-with.ts';
import { validate } from './validate.ts';

const FOLDER = join(import.meta.dirname, 'testdata/dialect');
const MANIFESTS = readdirSync(FOLDER);
/** Only a cluster has key sets of service accounts. */
const CLUSTER_ONLY = ['service-accounts.yaml'];
const CLUSTER: ClusterFacts = {
  mode: 'cluster',
  runtimeImage: 'runtime:1',
  allowHostPaths: true,
  stdioAttach: true,
  podAnnotations: ['a.example/*'],
};

let state: string;
beforeAll(() => {
  state = mkdtempSync(join(tmpdir(), 'vmcp-dialect-'));
});
afterAll(() => rmSync(state, { recursive: true, force: true }));

async function problemsOf(manifest: string, cluster?: ClusterFacts): Promise<string[]> {
  let said = '';
  const stream = { write: (text: string) => (said += text) };
  const context = contextWith({ state: locateState(state), out: stream, err: stream, containerEngine: 'podman' });
  const code = await validate([join(FOLDER, manifest)], { output: 'table', references: 'warn', cluster }, context);
  const problems = said.split('\n').filter((line) => !/\(warning\)$|valid$|^$/.test(line));
  return code === 0 ? problems : [`exit code ${code}`, ...problems];
}

describe('vmcp validate with manifests of another product in this dialect', () => {
  it.each(MANIFESTS)('accepts them unchanged for a cluster: %s', async (manifest) => {
    expect(await problemsOf(manifest, CLUSTER)).toEqual([]);
  });

  it.each(MANIFESTS.filter((manifest) => !CLUSTER_ONLY.includes(manifest)))(
    'pass validation for one machine unchanged: %s',
    async (manifest) => {
      expect(await problemsOf(manifest)).toEqual([]);
    },
  );
});
