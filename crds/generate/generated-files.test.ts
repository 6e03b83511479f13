import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { generatedFiles, GENERATED_FOLDERS, WRITTEN_ELSEWHERE } from '#crds/generate/generated-files';
import { KIND_NAMES } from '#crds/kinds/index';

const root = join(import.meta.dirname, '../..');
const files = generatedFiles('vmcp.dev');

interface Crd {
  metadata: { name: string };
  spec: {
    group: string;
    names: { kind: string; shortNames: string[]; categories: string[] };
    versions: {
      name: string;
      served: boolean;
      storage: boolean;
      subresources: object;
      additionalPrinterColumns: { name: string }[];
      schema: { openAPIV3Schema: Node };
    }[];
  };
}
interface Node {
  type?: string;
  default?: unknown;
  properties?: Record<string, Node>;
  items?: Node;
  additionalProperties?: Node;
  [mark: string]: unknown;
}

const crds = [...files].filter(([path]) => path.startsWith('crds/manifests/')).map(([, text]) => parse(text) as Crd);
const schemaOf = (crd: Crd) => crd.spec.versions[0]!.schema.openAPIV3Schema;
const crdOf = (kind: string) => crds.find(({ spec }) => spec.names.kind === kind)!;

function below(node: Node): Node[] {
  const children = [...Object.values(node.properties ?? {}), node.items, node.additionalProperties];
  return [node, ...children.filter((child) => child !== undefined).flatMap(below)];
}

function at(kind: string, path: string): Node {
  let node = schemaOf(crdOf(kind));
  for (const step of path.split('.')) node = (step === '[]' ? node.items : node.properties?.[step])!;
  return node;
}

describe('generatedFiles', () => {
  it.each([...files.keys()])('returns the committed content of %s', (path) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(files.get(path));
  });

  it.each(crds)('serves and stores one version, the basis of later conversions: $spec.names.kind', ({ spec }) => {
    expect(spec.versions.map(({ name, served, storage }) => [name, served, storage])).toEqual([
      ['v1alpha1', true, true],
    ]);
  });

  it('allows no reference to another namespace, by a field or within a name', () => {
    const references = crds
      .flatMap((crd) => below(schemaOf(crd).properties!.spec!))
      .filter(({ properties }) => properties?.name && properties.key);
    expect(references.length).toBeGreaterThan(30);
    for (const { properties } of references) {
      expect(properties).not.toHaveProperty('namespace');
      expect('other/secret').not.toMatch(new RegExp(String(properties!.name!.pattern)));
      expect('..').not.toMatch(new RegExp(String(properties!.name!.pattern)));
    }
  });

  it.each(GENERATED_FOLDERS)('covers all files in %s', (folder) => {
    expect(
      readdirSync(join(root, folder))
        .map((name) => `${folder}/${name}`)
        .filter((path) => !files.has(path) && !WRITTEN_ELSEWHERE.includes(path)),
    ).toEqual([]);
  });

  it('returns the same files each time', () => {
    expect([...generatedFiles('vmcp.dev')]).toEqual([...files]);
  });
});

describe('customResourceDefinition', () => {
  it('covers every kind, with short name, category and status', () => {
    expect(
      Object.fromEntries(
        crds.map(({ metadata, spec }) => [
          spec.names.kind,
          [metadata.name, ...spec.names.shortNames, ...spec.names.categories],
        ]),
      ),
    ).toEqual({
      VirtualMCPServer: ['virtualmcpservers.vmcp.dev', 'vmcp', 'mcp'],
      MCPGroup: ['mcpgroups.vmcp.dev', 'mcpg', 'mcp'],
      MCPServer: ['mcpservers.vmcp.dev', 'mcps', 'mcp'],
      MCPExternalAuthConfig: ['mcpexternalauthconfigs.vmcp.dev', 'extauth', 'mcp'],
      MCPOIDCConfig: ['mcpoidcconfigs.vmcp.dev', 'mcpoidc', 'mcp'],
    });
    for (const { spec } of crds) expect(spec.versions[0]?.subresources).toHaveProperty('status');
    // Two kinds of replica counts would be ambiguous.
    expect(crdOf('MCPServer').spec.versions[0]?.subresources).toEqual({ status: {} });
    expect(crdOf('VirtualMCPServer').spec.versions[0]?.subresources).toEqual({
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    });
  });

  it('accepts another group', () => {
    const text = generatedFiles('example.org').get('crds/manifests/mcp-group.yaml') ?? '';
    expect((parse(text) as Crd).metadata.name).toBe('mcpgroups.example.org');
    expect((parse(text) as Crd).spec.group).toBe('example.org');
  });

  it('preserves unknown fields below spec, so that a misspelt one is reported', () => {
    for (const crd of crds) {
      const objects = below(schemaOf(crd).properties!.spec!).filter(({ properties }) => properties !== undefined);
      expect(objects.every((node) => node['x-kubernetes-preserve-unknown-fields'] === true)).toBe(true);
    }
  });

  it('prunes unknown fields of status', () => {
    for (const crd of crds) {
      const text = JSON.stringify(schemaOf(crd).properties!.status);
      expect(text).not.toContain('preserve-unknown-fields');
    }
  });

  it('marks quantities and counts that may be numbers or text', () => {
    expect(at('VirtualMCPServer', 'spec.podDisruptionBudget.maxUnavailable')).toMatchObject({
      'x-kubernetes-int-or-string': true,
    });
    expect(at('MCPServer', 'spec.resources.limits').additionalProperties).toMatchObject({
      'x-kubernetes-int-or-string': true,
    });
    expect(at('MCPServer', 'spec.podTemplateSpec')).toEqual({
      description: 'Merged over the rendered pod template; the container is `mcp`.',
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
    });
  });

  it.each([
    ['VirtualMCPServer', 'spec.config.aggregation.conflictResolution', 'prefix'],
    ['VirtualMCPServer', 'spec.config.aggregation.conflictResolutionConfig.prefixFormat', '{workload}_'],
    ['VirtualMCPServer', 'spec.config.operational.failureHandling.partialFailureMode', 'best_effort'],
    ['VirtualMCPServer', 'spec.config.operational.timeouts.default', '60s'],
    ['VirtualMCPServer', 'spec.incomingAuth.oidcConfig.kubernetes.audience', 'toolhive'],
    ['VirtualMCPServer', 'spec.incomingAuth.oidcConfig.kubernetes.useClusterAuth', true],
    ['VirtualMCPServer', 'spec.incomingAuth.authzConfig.mode', 'enforce'],
    ['VirtualMCPServer', 'spec.outgoingAuth', { source: 'discovered' }],
    ['VirtualMCPServer', 'spec.authServerConfig.tokenLifespans.accessTokenLifespan', '1h'],
    ['VirtualMCPServer', 'spec.authServerConfig.tokenLifespans.refreshTokenLifespan', '168h'],
    ['VirtualMCPServer', 'spec.authServerConfig.tokenLifespans.authCodeLifespan', '10m'],
    ['VirtualMCPServer', 'spec.authServerConfig.scopesSupported', ['mcp', 'offline_access']],
    ['VirtualMCPServer', 'spec.authServerConfig.cimd', { enabled: false }],
    ['VirtualMCPServer', 'spec.authServerConfig.registration', { enabled: true }],
    ['VirtualMCPServer', 'spec.authServerConfig.revalidateAfter', '1h'],
    ['VirtualMCPServer', 'spec.authServerConfig.storage', { type: 'memory' }],
    ['VirtualMCPServer', 'spec.authServerConfig.limits.registrationsPerMinute', 10],
    ['VirtualMCPServer', 'spec.limits.sessionIdle', '30m'],
    ['VirtualMCPServer', 'spec.limits.sessionsPerReplica', 10_000],
    ['VirtualMCPServer', 'spec.limits.listDeadline', '5s'],
    ['VirtualMCPServer', 'spec.limits.connectTimeout', '3s'],
    ['VirtualMCPServer', 'spec.limits.maxRequestBytes', 4_194_304],
    ['VirtualMCPServer', 'spec.limits.maxResponseBytes', 104_857_600],
    ['VirtualMCPServer', 'spec.limits.jwksMaxAge', '5m'],
    ['VirtualMCPServer', 'spec.limits.jwksCooldown', '30s'],
    ['VirtualMCPServer', 'spec.limits.introspectionCache', '30s'],
    ['VirtualMCPServer', 'spec.limits.maxNameLength', 60],
    ['MCPServer', 'spec.stdioProcess', 'shared'],
    ['MCPServer', 'spec.audit.maxDataSize', 1024],
    ['MCPExternalAuthConfig', 'spec.embeddedAuthServer.headerStrategy', 'replace'],
  ])('defaults %s %s to %p', (kind, path, expected) => {
    expect(at(kind, path).default).toEqual(expected);
  });

  it('sets no default within a list: kubectl apply compares lists whole, and would find a difference each time', () => {
    const entries = crds.flatMap((crd) => below(schemaOf(crd)).flatMap(({ items }) => (items ? below(items) : [])));
    expect(entries.length).toBeGreaterThan(100);
    expect(entries.filter((node) => node.default !== undefined)).toEqual([]);
  });

  it('sets no default for values that others change: the applier of the manifest would own them', () => {
    expect(at('MCPServer', 'spec.suspend').default).toBeUndefined();
  });

  it('sets no default that would exclude another field', () => {
    expect(at('VirtualMCPServer', 'spec.replicas').default).toBeUndefined();
    expect(at('VirtualMCPServer', 'spec.audit').default).toBeUndefined();
    expect(at('VirtualMCPServer', 'spec.sessionStorage').default).toBeUndefined();
  });

  it('fits into the annotation of kubectl apply', () => {
    for (const crd of crds) expect(JSON.stringify(crd).length).toBeLessThan(262_144);
  });
});

describe('the chart', () => {
  it.each(Object.keys(KIND_NAMES))(
    'contains the CRD of %s, which outlives the chart and has the configured group',
    (kind) => {
      const { name } = crdOf(kind).metadata;
      const [plural] = name.split('.');
      const text =
        [...files].find(([path, content]) => path.startsWith('charts/') && content.includes(`kind: ${kind}\n`))?.[1] ??
        '';
      expect(text).toMatch(
        /^# Generated by crds\/generate\.ts\. Do not edit\.\n\{\{- if \.Values\.crds\.install \}\}\n/,
      );
      expect(text).toMatch(/\{\{- end \}\}\n$/);
      expect(text).toContain(`name: ${plural}.{{ .Values.apiGroup }}\n`);
      expect(text).toContain('helm.sh/resource-policy: keep');
      expect(text).toContain('group: {{ .Values.apiGroup }}\n');
      expect(text).not.toContain('vmcp.dev');
    },
  );
});

describe('the reference', () => {
  const pages = [...files].filter(([path]) => path.startsWith('docs/reference/') && !path.endsWith('README.md'));

  it.each(pages)('explains each field of %s', (_, text) => {
    const rows = text.split('\n').filter((line) => line.startsWith('| `'));
    const silent = rows.filter((line) => line.replaceAll('\\|', '').split('|')[4]?.trim() === '');
    expect(rows.length).toBeGreaterThan(0);
    expect(silent.map((line) => line.split('|')[1])).toEqual([]);
  });

  it('lists every page', () => {
    const index = files.get('docs/reference/README.md') ?? '';
    for (const [path] of pages) expect(index).toContain(`(${path.replace('docs/reference/', '')})`);
  });
});
