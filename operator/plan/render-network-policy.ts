import type { ClusterFacts, Manifest, Snapshot } from '../snapshot.ts';
import { backendChild } from './child-names.ts';
import { serversOfGroup } from './find-references.ts';
import { backendSelector, childOf, ownedMetadata, RUNTIME, runtimeSelector } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';
import type { Egress } from './read-permission-profile.ts';

/** Labels that the chart gives the operator's pods. */
const OPERATOR_LABELS = { 'app.kubernetes.io/name': 'vmcp-operator' };

const inNamespace = (name: string) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });

function privatePeers({ operatorNamespace, scraperNamespaces }: ClusterFacts): object[] {
  return [
    ...(operatorNamespace === undefined
      ? []
      : [{ ...inNamespace(operatorNamespace), podSelector: { matchLabels: OPERATOR_LABELS } }]),
    ...(scraperNamespaces ?? []).map(inNamespace),
  ];
}

function networkPolicy(
  name: string,
  selector: Record<string, string>,
  spec: object,
  manifest: Manifest,
  snapshot: Snapshot,
): ClusterObject['object'] {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: ownedMetadata(name, selector, manifest, snapshot),
    spec: { podSelector: { matchLabels: selector }, ...spec },
  };
}

/** Renders the policy of a runtime: all peers reach the public port, only those above reach /status and /metrics. */
export function renderRuntimeNetworkPolicy(
  manifest: Manifest,
  cluster: ClusterFacts,
  snapshot: Snapshot,
): ClusterObject['object'] {
  const from = privatePeers(cluster);
  const ingress = [
    { ports: [{ port: 'mcp', protocol: 'TCP' }] },
    // An empty `from` would allow all peers.
    ...(from.length === 0 ? [] : [{ from, ports: [{ port: 'private', protocol: 'TCP' }] }]),
  ];
  const spec = { policyTypes: ['Ingress'], ingress };
  return networkPolicy(childOf(manifest), runtimeSelector(manifest), spec, manifest, snapshot);
}

const DNS = {
  ports: [
    { port: 53, protocol: 'UDP' },
    { port: 53, protocol: 'TCP' },
  ],
};

function egressRules({ addresses, ports, everywhere }: Egress): object[] {
  const to = everywhere ? {} : { to: addresses.map((cidr) => ({ ipBlock: { cidr } })) };
  const limited = ports.length === 0 ? {} : { ports: ports.map((port) => ({ port, protocol: 'TCP' })) };
  return everywhere || addresses.length > 0 ? [DNS, { ...to, ...limited }] : [];
}

function groupPeers(group: string | undefined, snapshot: Snapshot): object[] {
  const names = group === undefined ? [] : serversOfGroup(group, snapshot);
  if (names.length === 0) return [];
  const instance = { key: 'app.kubernetes.io/instance', operator: 'In', values: names };
  return [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': RUNTIME }, matchExpressions: [instance] } }];
}

/** Only a backend's own runtime and its group's reach it: other calls bypass all policies. `egress` is undefined without a profile. */
export function renderBackendNetworkPolicy(
  manifest: Manifest,
  group: string | undefined,
  egress: Egress | undefined,
  snapshot: Snapshot,
): ClusterObject['object'] {
  const from = [{ podSelector: { matchLabels: runtimeSelector(manifest) } }, ...groupPeers(group, snapshot)];
  const ingress = [{ from, ports: [{ port: 'mcp', protocol: 'TCP' }] }];
  const limited = egress && { egress: egressRules(egress) };
  const policyTypes = egress ? ['Ingress', 'Egress'] : ['Ingress'];
  const spec = { policyTypes, ingress, ...limited };
  return networkPolicy(backendChild(manifest.metadata.name), backendSelector(manifest), spec, manifest, snapshot);
}
