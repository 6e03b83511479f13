import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Manifest } from '../snapshot.ts';
import { indexedRecord, isIndexed, resourcesNaming, resourcesNamingInStatus, withResource } from './resource-index.ts';

const NAMES = ['a', 'b', 'c', 'constructor', 'a-proxy'];
const name = fc.constantFrom(...NAMES);
const resource = fc.record({
  name,
  kind: fc.constantFrom('MCPServer' as const, 'VirtualMCPServer' as const),
  generation: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  spec: fc.oneof(
    fc.record({ groupRef: name, secrets: fc.array(fc.record({ name, key: fc.constant('Key') }), { maxLength: 2 }) }),
    fc.record({ remoteUrl: fc.constant('https://x.example'), oidcConfigRef: fc.record({ name }) }),
  ),
  status: fc.option(fc.record({ backends: fc.array(fc.record({ name }), { maxLength: 3 }) }), { nil: undefined }),
  gone: fc.boolean(),
});

describe('ResourceIndex', () => {
  it('returns the same as a full scan after additions, changes and removals', () => {
    fc.assert(
      fc.property(fc.array(resource, { maxLength: 30 }), (changes) => {
        const { record, index } = indexedRecord();
        const generations = new Map<string, { spec: string; generation: number }>();
        for (const { gone, generation, ...change } of changes) {
          const kept = generations.get(change.name);
          // Like the API server: a changed spec has a new generation.
          const spec = JSON.stringify([change.kind, change.spec]);
          const counted = (kept?.generation ?? 0) + (kept?.spec === spec ? 0 : 1);
          generations.set(change.name, { spec, generation: counted });
          if (gone) {
            Reflect.deleteProperty(record, change.name);
            index.delete(change.name);
            continue;
          }
          const metadata = {
            name: change.name,
            namespace: 'ns',
            ...(generation !== undefined && { generation: counted }),
          };
          const { kind, spec: written, status } = change;
          const manifest: Manifest = { apiVersion: 'vmcp.dev/v1alpha1', kind, metadata, spec: written, status };
          record[change.name] = manifest;
          index.set(manifest);
        }
        const copy = { ...record };
        expect([isIndexed(record), isIndexed(copy)]).toEqual([true, false]);
        const sorted = (found: Manifest[]) => found.map(({ metadata }) => metadata.name).sort();
        for (const text of NAMES) {
          expect(sorted(resourcesNaming(record, text))).toEqual(sorted(resourcesNaming(copy, text)));
          expect(sorted(resourcesNamingInStatus(record, text))).toEqual(sorted(resourcesNamingInStatus(copy, text)));
        }
      }),
    );
  });
});

describe('withResource', () => {
  const manifestOf = ({
    name: called,
    kind,
    generation,
    spec,
    status,
  }: typeof resource extends fc.Arbitrary<infer T> ? T : never): Manifest => ({
    apiVersion: 'vmcp.dev/v1alpha1',
    kind,
    metadata: {
      name: called,
      namespace: 'default',
      uid: JSON.stringify([kind, spec]),
      ...(generation !== undefined && { generation }),
    },
    spec,
    ...(status && { status }),
  });

  it('answers look-ups as a copy would and leaves the record unchanged', () => {
    fc.assert(
      fc.property(fc.array(resource, { maxLength: 8 }), resource, (standing, proposed) => {
        const { record, index } = indexedRecord();
        for (const manifest of standing.map(manifestOf)) {
          record[manifest.metadata.name] = manifest;
          index.set(manifest);
        }
        const before = { ...record };
        const changed = withResource(record, manifestOf(proposed));
        const copy = { ...record, [proposed.name]: manifestOf(proposed) };
        expect(isIndexed(changed)).toBe(true);
        expect({ ...changed }).toEqual(copy);
        const sorted = (found: Manifest[]) => found.map(({ metadata }) => metadata.name).sort();
        for (const text of NAMES) {
          expect(sorted(resourcesNaming(changed, text))).toEqual(sorted(resourcesNaming(copy, text)));
          expect(sorted(resourcesNamingInStatus(changed, text))).toEqual(sorted(resourcesNamingInStatus(copy, text)));
        }
        expect({ ...record }).toEqual(before);
      }),
    );
  });
});
