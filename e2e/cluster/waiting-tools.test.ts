import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { Outcome } from '#operator/plan/outcome';
import { isInstalled } from '../redis/is-installed.ts';
import { buildKstatus } from './kit/build-kstatus.ts';
import { LEAST_SPECS } from './least-specs.ts';
import { run } from './run-program.ts';
import { collectionOf } from './send-manifests.ts';
import { installDefinitions } from './stage.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const GOLDEN = join(import.meta.dirname, '../../operator/plan/testdata');
const GENERATION = 2;

type Status = NonNullable<Outcome['status']>;

describeWithCluster('a tool that waits by kstatus, as Flux does,', (cluster) => {
  const test = isInstalled('go') ? it : it.skip;
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-kstatus-'));
  const program = join(folder, 'kstatus');

  const judge = async (objects: readonly unknown[]) =>
    JSON.parse(await run(program, [], { input: JSON.stringify(objects) })) as string[];

  /** Returns one word for each: Current, InProgress, Failed. */
  async function wordsFor(statuses: readonly (Status | undefined)[]): Promise<string[]> {
    const metadata = { name: 'a', generation: GENERATION };
    const objects = statuses.map((status) => ({
      apiVersion: 'vmcp.dev/v1alpha1',
      kind: 'MCPServer',
      metadata,
      status,
    }));
    return judge(objects);
  }

  beforeAll(() => buildKstatus(program), 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('classifies each status that the plan writes as ready, failed or in progress', async () => {
    const outcomes = readdirSync(GOLDEN)
      .filter((file) => file.endsWith('.out.yaml'))
      .map((file) => [file, parse(readFileSync(join(GOLDEN, file), 'utf8')) as Outcome] as const);
    const written = outcomes.flatMap(([file, { status }]) => (status ? [{ file, status }] : []));
    const words = await wordsFor(written.map(({ status }) => ({ ...status, observedGeneration: GENERATION })));
    const expected = written.map(({ file, status }) => {
      const is = (type: string) => status.conditions.some((one) => one.type === type && one.status === 'True');
      if (is('Stalled')) return [file, 'Failed'];
      return [file, is('Ready') && !is('Reconciling') ? 'Current' : 'InProgress'];
    });
    expect(written.map(({ file }, index) => [file, words[index]])).toEqual(expected);
    expect(new Set(words)).toEqual(new Set(['Current', 'Failed', 'InProgress']));
  });

  test('waits while another generation is active', async () => {
    const ready = { type: 'Ready', status: 'True', reason: 'Valid', message: 'It is valid.' };
    const status = { phase: 'Ready', conditions: [{ ...ready, lastTransitionTime: '2026-01-02T03:04:05Z' }] };
    const words = await wordsFor([1, 2].map((observedGeneration) => ({ ...status, observedGeneration }) as Status));
    expect(words).toEqual(['InProgress', 'Current']);
  });

  describe('without an operator', () => {
    let namespace: Namespace;
    beforeAll(async () => {
      await installDefinitions(cluster);
      namespace = await cluster.makeNamespace('waiting-tools');
    }, 60_000);
    afterAll(() => namespace.delete());

    test('waits for a new resource of each kind from the first moment on', async () => {
      const asked = Object.entries(LEAST_SPECS).map(async ([kind, spec]) => {
        const apiVersion = 'vmcp.dev/v1alpha1';
        const collection = collectionOf({ apiVersion, kind, metadata: {} }, namespace.name);
        const made = await cluster.ask('POST', collection, { apiVersion, kind, metadata: { name: 'a' }, spec });
        const read = await cluster.ask('GET', `${collection}/a`);
        return [made.body as unknown, read.body as unknown];
      });
      const objects = (await Promise.all(asked)).flat();
      expect(await judge(objects)).toEqual(objects.map(() => 'InProgress'));
    });
  });
});
