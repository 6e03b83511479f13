import { MOST_ISSUERS } from '../parts/identity-assertions.ts';
import { describe, expect, it } from '@jest/globals';
import { admissionPolicies, namesAt, referencesOf } from '#crds/generate/admission-policy';
import { nodesOf } from '#crds/generate/schema-node';
import { jsonSchemaOf } from '#crds/generate/structural';
import { KIND_NAMES, type KindName, OBJECTS } from '#crds/kinds/index';

const kinds = Object.keys(KIND_NAMES) as KindName[];

/** Returns the paths that look like a reference of this kind, without regard to their marks. */
function looksLike(kind: KindName, pattern: RegExp): string[] {
  const spec = jsonSchemaOf(OBJECTS[kind]).properties!.spec!;
  return [...nodesOf(spec, 'spec')]
    .filter(([path, node]) => node.properties?.name !== undefined && pattern.test(path))
    .map(([path]) => path);
}

describe('referencesOf, namesAt and admissionPolicies', () => {
  it.each(kinds)('find all Secrets that a %s names', (kind) => {
    const named = looksLike(kind, /(secret|password|token)\w*(\[\]|\{\})?$/i);
    expect(referencesOf(kind).get('Secret') ?? []).toEqual(expect.arrayContaining(named));
    if (kind !== 'MCPGroup') expect(named.length).toBeGreaterThan(0);
  });

  it.each(kinds)('find all MCPExternalAuthConfigs that a %s names', (kind) => {
    const named = looksLike(kind, /externalAuthConfigRef$/);
    expect(referencesOf(kind).get('MCPExternalAuthConfig') ?? []).toEqual(named);
  });

  it('find groups, service accounts and the pull secrets of the pod template', () => {
    expect(referencesOf('VirtualMCPServer').get('MCPGroup')).toEqual(['spec.config.groupRef=']);
    expect(referencesOf('MCPServer').get('MCPGroup')).toEqual(['spec.groupRef=']);
    for (const kind of ['VirtualMCPServer', 'MCPServer'] as const) {
      expect(referencesOf(kind).get('ServiceAccount')).toEqual(['spec.serviceAccount=']);
      expect(referencesOf(kind).get('Secret')).toContain('spec.podTemplateSpec.spec.imagePullSecrets[]');
    }
    expect(namesAt('spec.config.groupRef=')).toBe('[?object.spec.?config.?groupRef]');
    expect(namesAt('spec.podTemplateSpec.spec.imagePullSecrets[]')).toMatch(
      /^dyn\(object\)\.\?spec\.\?podTemplateSpec/,
    );
  });

  it('require the right to create pods of a user who labels pods', () => {
    const asking = admissionPolicies('vmcp.dev', 'vmcp', {}).filter((object) =>
      JSON.stringify(object).includes("resource('pods')"),
    );
    expect(asking).toMatchObject(
      ['virtualmcpservers', 'mcpservers'].map((plural) => ({ metadata: { name: `vmcp-references-${plural}` } })),
    );
    expect(JSON.stringify(asking[1])).toContain('.?proxyDeployment.?podLabels.orValue({}) == {}');
  });

  it.each([
    ["group('apps').resource('deployments')", 'proxyDeployment.?labels'],
    ["group('').resource('services')", 'proxyService.?labels'],
  ])('require the right to create an object of an endpoint from a user who labels it: %s', (right, map) => {
    const [asking, ...more] = admissionPolicies('vmcp.dev', 'vmcp', {}).filter((object) =>
      JSON.stringify(object).includes(right),
    );
    expect(more).toEqual([]);
    expect(asking).toMatchObject({ metadata: { name: 'vmcp-references-mcpservers' } });
    expect(JSON.stringify(asking)).toContain(`.?resourceOverrides.?${map}.orValue({}) == {} || authorizer.${right}`);
  });

  it('count a repeated name once within a list or a map', () => {
    expect(namesAt('spec.tls.secretRef')).toBe('[?object.spec.?tls.?secretRef.?name]');
    expect(namesAt('spec.secrets[]')).toContain('s.name == r.name && s.key < r.key');
    expect(namesAt('spec.headers{}')).toContain('object.spec.headers[j].name == object.spec.headers[k].name');
  });

  it('reject a list in a list without a bound, and read each entry of a bounded one', () => {
    expect(() => namesAt('spec.a[].b[].secretRef')).toThrow('spec.a[].b[]');
    expect(namesAt('spec.x.identityAssertions[].clients[].secretRef').split(' + ')).toHaveLength(MOST_ISSUERS);
  });
});
