import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { clusterFolders } from './cluster-folders.ts';
import { allVersions, chooseVersion } from './versions.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const oldest = allVersions()[0]?.name ?? '';

describe('the Kubernetes releases of the cluster tests', () => {
  it('start at the oldest release that the chart admits', () => {
    expect(parse(read('charts/vmcp/Chart.yaml'))).toMatchObject({ kubeVersion: `>=${oldest}.0-0` });
  });

  it.each(['docs/operate/kubernetes.md', 'charts/vmcp/README.md'])('start at the oldest that %s promises', (page) => {
    expect(read(page)).toContain(`Kubernetes ${oldest} or later`);
  });

  it.each(allVersions())('appear in the documentation: $release', ({ name, release }) => {
    expect(release).toMatch(new RegExp(`^v${name}\\.`));
    expect(
      read('docs/operate/kubernetes.md')
        .split(/\s+/)
        .map((word) => word.replace(/[.,]$/, '')),
    ).toContain(release.slice(1));
  });

  it('include the oldest and kind’s default in the workflow', () => {
    const workflow: unknown = parse(read('.github/workflows/cluster.yml'));
    expect(workflow).toMatchObject({ jobs: { kind: { strategy: { matrix: { kubernetes: [oldest, ''] } } } } });
    expect(read('.github/workflows/cluster.yml')).toContain('E2E_KUBERNETES_VERSION: ${{ matrix.kubernetes }}');
    expect(chooseVersion(oldest).kindImage).toContain(`:v${oldest}.`);
  });

  it('have separate programs, and share those that do not belong to Kubernetes', () => {
    const places = allVersions().map((version) => clusterFolders('/cache', version));
    expect(new Set(places.map(({ bin }) => bin)).size).toBe(places.length);
    expect(new Set(places.map(({ sharedBin }) => sharedBin))).toEqual(new Set(['/cache/bin']));
  });

  it('appear in the error for an unknown release', () => {
    expect(() => chooseVersion('1.29')).toThrow('E2E_KUBERNETES_VERSION=1.29: the tests run on 1.30 or 1.36');
    expect(chooseVersion('')).toEqual(chooseVersion(undefined));
  });
});
