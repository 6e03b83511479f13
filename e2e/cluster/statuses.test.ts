import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Outcome } from '#operator/plan/outcome';
import { LEAST_SPECS } from './least-specs.ts';
import { collectionOf } from './send-manifests.ts';
import { installDefinitions } from './stage.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

// Applies the status of every golden pair. Server-side apply refuses a status with a field that the definition lacks.

const ROOT = join(import.meta.dirname, '../..');
const PAIRS = join(ROOT, 'operator/plan/testdata');
const API = 'vmcp.dev/v1alpha1';

const statuses = readdirSync(PAIRS)
  .filter((file) => file.endsWith('.out.yaml'))
  .flatMap((file) => {
    const { key, status } = parse(readFileSync(join(PAIRS, file), 'utf8')) as Outcome;
    return status === undefined ? [] : [{ pair: file.replace('.out.yaml', ''), kind: key.kind, status }];
  });

describeWithCluster('the statuses of the golden pairs', (cluster) => {
  let namespace: Namespace;
  const path = (kind: string) =>
    `${collectionOf({ apiVersion: API, kind, metadata: {} }, namespace.name)}/${kind.toLowerCase()}`;
  const object = (kind: string, more: object) => ({
    apiVersion: API,
    kind,
    metadata: { name: kind.toLowerCase() },
    ...more,
  });

  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await cluster.makeNamespace('statuses');
    for (const [kind, spec] of Object.entries(LEAST_SPECS)) {
      // The API server ignores the status in a write of the resource.
      const { status, body } = await cluster.apply(path(kind), object(kind, { spec, status: { phase: 'Ready' } }));
      expect([status, body.message]).toEqual([201, undefined]);
    }
  });
  afterAll(() => namespace.delete());

  it.each(Object.keys(LEAST_SPECS))(
    'default to NotLookedAt before an operator reconciles the resource: a %s',
    async (kind) => {
      const { body } = await cluster.ask('GET', path(kind));
      expect(body.status).toEqual({
        conditions: [
          {
            type: 'Ready',
            status: 'Unknown',
            reason: 'NotLookedAt',
            message: expect.stringMatching(/^No operator .*: wait, or see /),
            lastTransitionTime: '1970-01-01T00:00:00Z',
          },
        ],
      });
      // Other suites define kinds of these names in other API groups.
      const { stdout } = await cluster.kubectl([
        'get',
        `${kind}.v1alpha1.vmcp.dev`,
        '-n',
        namespace.name,
        '-o',
        'wide',
        '--no-headers',
      ]);
      expect(stdout).toMatch(/ Unknown +NotLookedAt +\d+s\n$/);
    },
  );

  it('include every kind', () => {
    expect(new Set(statuses.map(({ kind }) => kind))).toEqual(new Set(Object.keys(LEAST_SPECS)));
  });

  it.each(statuses)('keep every field of $pair in the API server', async ({ kind, status: wanted }) => {
    const answer = await cluster.apply(`${path(kind)}/status?dryRun=All`, object(kind, { status: wanted }));
    expect([answer.status, answer.body.message]).toEqual([200, undefined]);
    expect(answer.body.status).toEqual(wanted);
  });
});
