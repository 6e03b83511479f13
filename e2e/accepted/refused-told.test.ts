import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { contextWith } from '#cli/testdata/context-with';
import { validate } from '#cli/validate';
import { locateState } from '#local/state-folder';
import type { Problem } from '#local/resource';
import type { ClusterFacts } from '#operator/snapshot';
import { arbitraryResources, type Resources, SECRET, folderContentOf } from './arbitrary-resources.ts';

/** A tenth of the runs of the property test of accepted documents. */
const RUNS = Math.ceil(Number(process.env.RUNS ?? 2_000) / 10);
const SEED = Number(process.env.SEED ?? 20_261_124);

const CLUSTER: ClusterFacts = { mode: 'cluster', runtimeImage: 'vmcp', allowHostPaths: false };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vmcp-refused-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function manifestsOf(resources: Resources): string {
  const { manifests } = folderContentOf(resources, []);
  const core = [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'secret' }, stringData: SECRET },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'config' }, data: resources.configMap },
  ];
  const written = manifests.map(({ apiVersion, kind, metadata: { name }, spec }) => {
    return { apiVersion, kind, metadata: { name }, spec };
  });
  return [...core, ...written].map((one) => stringify(one, { aliasDuplicateObjects: false })).join('---\n');
}

async function problemsOf(text: string, cluster: boolean): Promise<Problem[]> {
  let said = '';
  const context = contextWith({
    state: locateState(folder),
    input: Readable.from([text]),
    out: { write: (more: string) => (said += more) },
  });
  await validate(['-'], { output: 'json', references: 'error', ...(cluster && { cluster: CLUSTER }) }, context);
  return (JSON.parse(said) as { problems: Problem[] }).problems;
}

describe('validate', () => {
  it('reports file, line and remedy of each problem', async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryResources, fc.boolean(), async (resources, cluster) => {
        const text = manifestsOf(resources);
        const lines = text.split('\n').length;
        for (const problem of await problemsOf(text, cluster)) {
          found += 1;
          expect(problem).toMatchObject({ file: '-', line: expect.any(Number), path: expect.stringMatching(/./) });
          expect(problem.line).toBeLessThanOrEqual(lines);
          // A message says what is wrong, and then how to fix it.
          expect(problem.message).toMatch(/.[;:,?] .|\?$/);
        }
      }),
      { seed: SEED, numRuns: RUNS, endOnFailure: true },
    );
    expect(found).toBeGreaterThan(RUNS / 10);
  }, 600_000);
});
