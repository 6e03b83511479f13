import { byName, resourcesBy } from '#operator/by-name';
import { ownedMetadata, runtimeSelector } from '#operator/plan/object-parts';
import { credentialsOf, runtimeChildOf, sealingOf } from '#operator/plan/child-names';
import type { Outcome, SecretSource } from '#operator/plan/outcome';
import { plan } from '#operator/plan/plan';
import {
  type ClusterFacts,
  GENERATED_SECRETS,
  type Kind,
  type Manifest,
  type ResourceKey,
  type Snapshot,
} from '#operator/snapshot';
import { everyName } from '../observe/every-name.ts';
import type { KubeObject } from '../api/object.ts';
import { contentHash } from '../../content-hash.ts';

/** Placeholder for a uid that the API server will assign. */
const NO_UID = '00000000-0000-0000-0000-000000000000';

export interface Written {
  manifests: readonly Manifest[];
  /** Maps `<namespace>/<name>` to the texts by key. */
  configMaps: ReadonlyMap<string, Record<string, string>>;
}

export interface RenderedResources {
  /** All objects that the operator would apply, in order. Values of Secrets are placeholders. */
  objects: KubeObject[];
  outcomes: Outcome[];
}

/** Secret values are unknown here: each named Secret counts as present, and its name replaces its digest. */
const digestsOf = (secret: string) => everyName((key) => contentHash(`${secret}/${key}`));

function snapshotOf(
  namespace: string,
  { manifests, configMaps }: Written,
  apiGroup: string,
  facts: ClusterFacts,
): Snapshot {
  const here = manifests.filter(({ metadata }) => metadata.namespace === namespace);
  const ofKind = (kind: Kind) =>
    byName(
      here
        .filter((one) => one.kind === kind)
        .map((one) => [one.metadata.name, { ...one, metadata: { uid: NO_UID, ...one.metadata } }] as const),
    );
  const prefix = `${namespace}/`;
  const maps = [...configMaps].flatMap(([place, texts]) =>
    place.startsWith(prefix) ? [[place.slice(prefix.length), texts] as const] : [],
  );
  return {
    namespace,
    apiGroup,
    // The keys of the cluster depend on no resource.
    platform: { keySet: { keys: [] }, ...facts },
    ...resourcesBy(ofKind),
    secrets: everyName(digestsOf),
    configMaps: byName(maps),
    generated: everyName((name) =>
      Object.fromEntries(GENERATED_SECRETS.map((which) => [which, contentHash(`${name} ${which}`)])),
    ),
    documents: everyName<never>(() => undefined),
    observed: everyName<never>(() => undefined),
    deployments: everyName<never>(() => undefined),
  };
}

export function placeholder(source: SecretSource): string {
  return 'generated' in source ? `<generated: ${source.generated}>` : `<secret ${source.secret}/${source.key}>`;
}

function secretsOf(key: ResourceKey, { rendered }: Outcome, snapshot: Snapshot): KubeObject[] {
  const manifest = key.kind === 'MCPServer' ? snapshot.mcpServers[key.name] : snapshot.virtualMcpServers[key.name];
  if (!rendered || !manifest) return [];
  const child = runtimeChildOf(key);
  const secret = (name: string, stringData: Record<string, string>): KubeObject => {
    const metadata = ownedMetadata(name, runtimeSelector(manifest), manifest, snapshot);
    return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData };
  };
  const files = Object.entries(rendered.secretFiles).map(([file, source]) => [file, placeholder(source)] as const);
  const made = {
    sealing: placeholder({ generated: 'sealing' }),
    'status-token': placeholder({ generated: 'statusToken' }),
  };
  return [secret(sealingOf(child), made), secret(credentialsOf(child), Object.fromEntries(files))];
}

/** Plans all resources like the operator, and returns the objects that it would apply, in the order of the resources. Pure. */
export function renderObjects(written: Written, apiGroup: string, facts: ClusterFacts): RenderedResources {
  const now = new Date(0).toISOString();
  const snapshots = new Map<string, Snapshot>();
  const planned = written.manifests.map(({ kind, metadata: { namespace, name } }) => {
    const snapshot = snapshots.get(namespace) ?? snapshotOf(namespace, written, apiGroup, facts);
    snapshots.set(namespace, snapshot);
    const key: ResourceKey = { kind, namespace, name };
    const outcome = plan(key, snapshot, now);
    const children = outcome.children.flatMap((child) =>
      child.platform === 'cluster' ? [child.object as KubeObject] : [],
    );
    return { outcome, objects: [...secretsOf(key, outcome, snapshot), ...children] };
  });
  return {
    objects: planned.flatMap(({ objects }) => objects),
    outcomes: planned.map(({ outcome }) => outcome),
  };
}
