import type { Manifest, Snapshot } from '../snapshot.ts';
import { backendChild } from './child-names.ts';
import { backendSelector, ownedMetadata } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';
import { podOf } from './render-bridge.ts';

const RBAC = 'rbac.authorization.k8s.io';

/** Renders an account that may attach to its own pod and do nothing else. */
export function renderAttachAccount(manifest: Manifest, snapshot: Snapshot): ClusterObject['object'][] {
  const child = backendChild(manifest.metadata.name);
  const metadata = ownedMetadata(child, backendSelector(manifest), manifest, snapshot);
  const rule = { apiGroups: [''], resources: ['pods/attach'], resourceNames: [podOf(child)], verbs: ['get', 'create'] };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules: [rule] },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC, kind: 'Role', name: child },
      subjects: [{ kind: 'ServiceAccount', name: child, namespace: snapshot.namespace }],
    },
  ];
}
