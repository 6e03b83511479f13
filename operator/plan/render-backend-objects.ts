import { transportOf } from '#crds/kinds/index';
import type { ClusterFacts, Manifest, Snapshot } from '../snapshot.ts';
import { contentHash } from '../content-hash.ts';
import { applyPodTemplate, checkServiceAccount } from './apply-pod-template.ts';
import { checkHostAccess, CONTAINER_PORT, type HostAccess } from './reach-backend.ts';
import { checkStdioImage } from './check-served.ts';
import { backendChild } from './child-names.ts';
import { secretVariables } from './container-command.ts';
import { defined } from './defined.ts';
import { secretDigest } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';
import { backendSelector, ownedMetadata, podAnnotations } from './object-parts.ts';
import type { Child, ClusterObject } from './outcome.ts';
import { type Permissions, readPermissionProfile } from './read-permission-profile.ts';
import { type Bridge, podOf, renderAttachBridge, renderPipeBridge } from './render-bridge.ts';
import { renderBackendNetworkPolicy } from './render-network-policy.ts';
import { programPort, renderProgramPod } from './render-program-pod.ts';
import { renderBackendBudget } from './render-scaling.ts';
import { renderBackendService, renderPodsService } from './render-service.ts';
import type { Finding } from './finding.ts';

export interface Program {
  children: Child[];
  warnings: Finding[];
}

/** Host names that a message lists. */
const NAMED = 10;

/** Containers of the bridge, whose programs and mounts the tenant must not change. */
const BRIDGE = ['pipes', 'bridge'];

/** Returns a token whose change rolls this backend. Its secrets are environment variables, which a running process cannot reload. */
function rollToken(manifest: Manifest, spec: BackendSpec, bridge: Bridge | undefined, snapshot: Snapshot): string {
  const place = `MCPServer "${manifest.metadata.name}" secrets`;
  const digests = Object.values(secretVariables(spec)).map((reference) => secretDigest(snapshot, reference, place));
  return contentHash(JSON.stringify([digests, ...(bridge ? [bridge.token] : [])]));
}

interface Parts {
  manifest: Manifest;
  spec: BackendSpec;
  permissions: Permissions;
  bridge: Bridge | undefined;
  cluster: ClusterFacts;
}

/** Returns the controller of the pods. Attaching needs a pod name that is known in advance. */
function renderController(parts: Parts) {
  const { manifest, bridge, spec } = parts;
  const replicas = spec.backendReplicas ?? 1;
  if (bridge?.account !== undefined) {
    const child = backendChild(manifest.metadata.name);
    return { kind: 'StatefulSet', fields: { replicas, serviceName: child, podManagementPolicy: 'Parallel' } };
  }
  // A stdio program is one process for all callers, so two must never run at once.
  return { kind: 'Deployment', fields: defined({ replicas, strategy: bridge && { type: 'Recreate' } }) };
}

function renderWorkload(parts: Parts, snapshot: Snapshot): ClusterObject['object'] {
  const { manifest, spec, permissions, bridge, cluster } = parts;
  checkServiceAccount(manifest, spec.serviceAccount, cluster, snapshot);
  const selector = backendSelector(manifest);
  const template = {
    metadata: {
      labels: selector,
      annotations: {
        ...podAnnotations('mcp', manifest, snapshot),
        [`${snapshot.apiGroup}/roll-token`]: rollToken(manifest, spec, bridge, snapshot),
      },
    },
    spec: renderProgramPod(spec, permissions, bridge, cluster, selector),
  };
  const written = { manifest, template: spec.podTemplateSpec, ours: bridge ? BRIDGE : [], ownContainers: true };
  const { kind, fields } = renderController(parts);
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: ownedMetadata(backendChild(manifest.metadata.name), selector, manifest, snapshot),
    spec: {
      ...fields,
      selector: { matchLabels: selector },
      template: applyPodTemplate(template, written, cluster),
    },
  };
}

function notEnforced({ unenforced }: Permissions): Finding[] {
  if (unenforced.length === 0) return [];
  const names = unenforced.slice(0, NAMED).join(', ') + (unenforced.length > NAMED ? ' and more' : '');
  const message = `A NetworkPolicy knows no host names, so every address may be reached, not ${names} alone: write address ranges in allow_host, or limit egress by a proxy or a mesh.`;
  return [{ type: 'EgressNotEnforced', status: 'True', reason: 'HostNames', message }];
}

function hostAccess({ folders, privileged }: Permissions): HostAccess[] {
  return [
    ...(folders.length > 0 ? [{ field: 'permissionProfile read and write', what: 'hostPath' as const }] : []),
    ...(privileged ? [{ field: 'permissionProfile privileged', what: 'privileged' as const }] : []),
  ];
}

function renderBridge(
  manifest: Manifest,
  spec: BackendSpec,
  cluster: ClusterFacts,
  snapshot: Snapshot,
): Bridge | undefined {
  if (transportOf(spec) !== 'stdio') return undefined;
  checkStdioImage(manifest.metadata.name, spec, cluster);
  return spec.command ? renderPipeBridge(manifest, cluster, snapshot) : renderAttachBridge(manifest, cluster, snapshot);
}

/** The container runtime stores the output of a container, and the bridge reads that log. */
const LOGGED: Finding = {
  type: 'StdoutIsLogged',
  status: 'True',
  reason: 'Attached',
  message:
    'All that the program answers is in the log of its container, readable to whoever may read logs: write command (the entry point of its image), with args, to keep it out.',
};

/** Renders the objects of a backend image. @throws Waiting for a missing Secret; Stalled for forbidden settings */
export function renderBackendObjects(
  manifest: Manifest,
  spec: BackendSpec,
  cluster: ClusterFacts,
  snapshot: Snapshot,
): Program {
  const { name } = manifest.metadata;
  const permissions = readPermissionProfile(name, spec, snapshot);
  checkHostAccess(name, hostAccess(permissions), cluster);
  const bridge = renderBridge(manifest, spec, cluster, snapshot);
  const port = programPort(spec) ?? CONTAINER_PORT;
  const objects = [
    ...(bridge ? [bridge.configMap] : []),
    ...(bridge?.account === undefined ? [] : renderAttachAccount(manifest, snapshot)),
    renderWorkload({ manifest, spec, permissions, bridge, cluster }, snapshot),
    renderBackendService(manifest, port, snapshot),
    ...((spec.backendReplicas ?? 1) > 1 ? [renderPodsService(manifest, port, snapshot)] : []),
    ...renderBackendBudget(manifest, spec.backendReplicas ?? 1, snapshot),
    renderBackendNetworkPolicy(manifest, spec.groupRef, permissions.egress, snapshot),
  ];
  return {
    children: objects.map((object) => ({ platform: 'cluster', object })),
    warnings: [...notEnforced(permissions), ...(bridge?.account === undefined ? [] : [LOGGED])],
  };
}

const RBAC = 'rbac.authorization.k8s.io';

/** Renders an account that may attach to its own pod and do nothing else. */
function renderAttachAccount(manifest: Manifest, snapshot: Snapshot): ClusterObject['object'][] {
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
