import { createHash } from 'node:crypto';
import { parse, stringify } from 'yaml';
import { writeText } from './yaml-text.ts';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { Outcome } from '#operator/plan/outcome';
import { plan } from '#operator/plan/plan';
import { type Manifest, parseKey, type Snapshot } from '#operator/snapshot';

interface SecretOrConfigMap {
  kind: 'Secret' | 'ConfigMap';
  metadata: { name: string };
  stringData?: Record<string, string>;
  data?: Record<string, string>;
}

/** An input of the planner as written in testdata: the differences from the defaults, and the resources of namespace `default`. */
export interface GoldenInput extends Partial<Omit<Snapshot, 'virtualMcpServers'>> {
  key: string;
  now?: string;
  resources: (Manifest | SecretOrConfigMap)[];
}

const LOCAL: Snapshot['platform'] = {
  mode: 'local',
  directory: '/srv/demo/.vmcp',
  ports: { demo: { port: 4483, privatePort: 4484 } },
  backendPorts: {},
  uids: { demo: '6f0c2f5e-0000-4000-8000-000000000001' },
  loginDirectory: '/srv/demo/.vmcp/logins/default',
};

/** Replaces the keyed hash of the platform. */
function digest(value: string): string {
  return createHash('sha256').update(`test key ${value}`).digest('hex').slice(0, 16);
}

function snapshotOf(input: GoldenInput): Snapshot {
  const resources = input.resources.map((resource) => ({
    apiVersion: 'vmcp.dev/v1alpha1',
    ...resource,
    metadata: { namespace: 'default', ...resource.metadata },
  }));
  const named = <T>(kind: string) =>
    Object.fromEntries(
      resources.filter((resource) => resource.kind === kind).map((resource) => [resource.metadata.name, resource as T]),
    );
  const entries = (kind: string) =>
    Object.entries(named<SecretOrConfigMap>(kind)).map(
      ([name, { stringData, data }]) => [name, { ...data, ...stringData }] as const,
    );
  const digests = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, digest(value)]));
  return emptySnapshot({
    platform: input.platform ?? LOCAL,
    virtualMcpServers: named<Manifest>('VirtualMCPServer'),
    mcpGroups: named<Manifest>('MCPGroup'),
    mcpServers: named<Manifest>('MCPServer'),
    mcpExternalAuthConfigs: named<Manifest>('MCPExternalAuthConfig'),
    mcpOidcConfigs: named<Manifest>('MCPOIDCConfig'),
    secrets: Object.fromEntries(entries('Secret').map(([name, values]) => [name, digests(values)])),
    configMaps: Object.fromEntries(entries('ConfigMap')),
    generated: input.generated ?? {},
    documents: Object.fromEntries(Object.entries(input.documents ?? {}).map(([name, one]) => [name, writeText(one)])),
    observed: input.observed ?? {},
    ...(input.deployments && { deployments: input.deployments }),
  });
}

/** Removes the text of a document, which repeats the document. */
function withoutText({ key, action, rendered, ...outcome }: Outcome): object {
  if (!rendered) return { key, action, ...outcome };
  const read = Object.fromEntries(Object.entries(rendered).filter(([field]) => field !== 'text'));
  return { key, action, rendered: read, ...outcome };
}

/** Returns the plan's outcome for one golden input. */
export function goldenOutcome(input: GoldenInput): Outcome {
  return plan(parseKey(input.key), snapshotOf(input), input.now ?? '2026-01-02T03:04:05Z');
}

/** Returns the same outcome as YAML text, for an input that is YAML text. */
export function goldenOutput(inputText: string): string {
  const outcome = goldenOutcome(parse(inputText) as GoldenInput);
  return stringify(withoutText(outcome), { lineWidth: 120, aliasDuplicateObjects: false });
}
