import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { RunConfig } from '#crds/run-config/run-config';
import { goldenOutput } from '#operator/golden-case';
import type { Outcome, Rendered } from '#operator/plan/outcome';

const folder = join(import.meta.dirname, 'testdata');
const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => name.replace('.in.yaml', ''));

const documents = cases.flatMap((name): [string, Rendered][] => {
  const { rendered } = parse(readFileSync(join(folder, `${name}.out.yaml`), 'utf8')) as Outcome;
  return rendered ? [[name, rendered]] : [];
});

interface Container {
  name: string;
  resources?: Record<'requests' | 'limits', Record<string, string> | undefined>;
}

/** Returns the children of one kind that the plan renders in a cluster. */
const childrenOf = (kind: string) =>
  cases.flatMap((name) => {
    const { children } = parse(readFileSync(join(folder, `${name}.out.yaml`), 'utf8')) as Outcome;
    return children.flatMap((child) =>
      'object' in child && child.object.kind === kind ? [[name, child.object] as const] : [],
    );
  });

/** Containers that the plan itself renders, without podTemplateSpec. */
const OURS = ['vmcp', 'mcp', 'bridge', 'pipes'];

describe('plan', () => {
  it('gives every container default requests and limits of CPU and memory', () => {
    const found = ['Deployment', 'StatefulSet'].flatMap(childrenOf).flatMap(([name, { spec }]) => {
      const { containers, initContainers = [] } = (
        spec as { template: { spec: Record<'containers' | 'initContainers', Container[] | undefined> } }
      ).template.spec;
      return [...(containers ?? []), ...initContainers].map((container) => ({ name, container }));
    });
    const without = found.filter(({ container: { name, resources } }) => {
      const given = [resources?.requests, resources?.limits].flatMap((some) => [some?.cpu, some?.memory]);
      return OURS.includes(name) && given.includes(undefined);
    });
    // These resources set a CPU request and no CPU limit.
    const written = { requests: { cpu: 1, memory: '128Mi' }, limits: { memory: '512Mi' } };
    expect(without).toEqual([
      { name: 'cluster-server-scaled', container: expect.objectContaining({ resources: written }) },
    ]);
    expect([...new Set(found.map(({ container }) => container.name))]).toEqual(expect.arrayContaining(OURS));
  });

  it('renders no single-stack Service', () => {
    const services = childrenOf('Service');
    const policies = services.map(([, { spec }]) => (spec as { ipFamilyPolicy?: string }).ipFamilyPolicy);
    expect(new Set(policies)).toEqual(new Set(['PreferDualStack']));
    const listening = documents.flatMap(([name, { document, configDirectory }]) =>
      configDirectory.startsWith('/etc/vmcp') ? [[name, document.listen?.host, document.listen?.private_host]] : [],
    );
    expect(listening.length).toBeGreaterThan(10);
    expect(listening.filter(([, host, privateHost]) => host !== '::' || privateHost !== '::')).toEqual([]);
  });

  it('has at least forty golden pairs', () => {
    expect(cases.length).toBeGreaterThanOrEqual(40);
  });

  it.each(cases)('%s', (name) => {
    const output = goldenOutput(readFileSync(join(folder, `${name}.in.yaml`), 'utf8'));
    expect(output).toBe(readFileSync(join(folder, `${name}.out.yaml`), 'utf8'));
  });

  it.each(documents)(
    '%s: renders a document that the runtime reads and that names only the listed files',
    (_name, rendered) => {
      RunConfig.parse(rendered.document);
      const { document, secretDirectory, configDirectory, secretFiles, plainFiles } = rendered;
      const listed = [
        ...Object.keys(secretFiles).map((file) => `${secretDirectory}/${file}`),
        ...Object.keys(plainFiles).map((file) => `${configDirectory}/${file}`),
      ];
      // The runtime creates databases itself.
      const named = JSON.stringify(document).match(/"\/(srv\/demo\/\.vmcp|etc\/vmcp)\/[^"]*(?<!\.sqlite)"/g) ?? [];
      expect([...new Set(named.map((path) => path.slice(1, -1)))].sort()).toEqual(listed.sort());
    },
  );
});
