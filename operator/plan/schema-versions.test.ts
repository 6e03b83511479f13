import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { FIELD_LIST, readFieldList } from '#crds/generate/field-list';
import { RUN_CONFIG_VERSION } from '#crds/run-config/run-config';
import type { Outcome } from '#operator/plan/outcome';

const root = join(import.meta.dirname, '../..');
const testdata = join(import.meta.dirname, 'testdata');
const documents = join(root, 'crds/run-config/testdata');

/** All versions so far: from the append-only list, and from the documents kept of each version. */
const ever = [
  ...readFieldList(readFileSync(join(root, FIELD_LIST), 'utf8')).flatMap(
    (line) => /^RunConfig schema_version = "(.*)"$/.exec(line)?.[1] ?? [],
  ),
  ...readdirSync(documents).map((file) => file.replace('.yaml', '')),
];

/** Returns the present version and the one before, if any: its pods still run during an upgrade. */
function versionsToRender(present: string, known: readonly string[]): string[] {
  const byNumber = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });
  const former = [...new Set(known)].filter((one) => byNumber(one, present) < 0).sort(byNumber);
  return [...former.slice(-1), present];
}

interface Written {
  name: string;
  version: string;
}

/** Run configurations that the plan renders in a cluster, per golden pair. */
const rendered = readdirSync(testdata)
  .filter((name) => name.endsWith('.out.yaml'))
  .map((pair) => {
    const { children } = parse(readFileSync(join(testdata, pair), 'utf8')) as Outcome;
    return children.flatMap((child): Written[] => {
      if (child.platform !== 'cluster' || child.object.kind !== 'ConfigMap') return [];
      const text = (child.object.data as Record<string, string> | undefined)?.['run-config.yaml'];
      if (text === undefined) return [];
      const { schema_version: version } = parse(text) as { schema_version: string };
      return [{ name: child.object.metadata.name, version }];
    });
  });

describe('run configuration schema versions', () => {
  it('rendered are the last two: the previous version stays beside a raised one', () => {
    expect(versionsToRender('v0.1.0', ['v0.1.0'])).toEqual(['v0.1.0']);
    expect(versionsToRender('v0.10.0', ['v0.1.0', 'v0.10.0', 'v0.9.0'])).toEqual(['v0.9.0', 'v0.10.0']);
    const wanted = versionsToRender(RUN_CONFIG_VERSION, ever);
    expect([...new Set(rendered.flat().map(({ version }) => version))].sort()).toEqual([...wanted].sort());
    // A pair with both versions has the same plan, for the pods of either.
    const beside = rendered.filter((pair) => wanted.every((version) => pair.some((one) => one.version === version)));
    expect(beside.length).toBeGreaterThan(0);
  });

  it('appear in the names of all ConfigMaps with a document, also of a bridge', () => {
    const names = rendered.flat();
    expect(names.map(({ name }) => name)).toContain(`mcp-memory-bridge-${RUN_CONFIG_VERSION}`);
    expect(names.filter(({ name, version }) => !name.endsWith(`-${version}`))).toEqual([]);
  });

  it('keep their documents unchanged', () => {
    expect([RUN_CONFIG_VERSION, ...ever].filter((one) => !existsSync(join(documents, `${one}.yaml`)))).toEqual([]);
  });
});
