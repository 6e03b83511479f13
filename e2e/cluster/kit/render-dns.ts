import { join } from 'node:path';
import { DNS_ADDRESS, DOMAIN, HOST, type ClusterFolders } from './cluster-folders.ts';

// CoreDNS runs on the host, behind the Service that pods expect.

/** Writes two blocks, as within one block "template" always comes before "kubernetes". */
export function writeCorefile({ settings }: ClusterFolders): string {
  return `${DOMAIN}:53 in-addr.arpa:53 {
  bind ${HOST}
  errors
  kubernetes ${DOMAIN} in-addr.arpa {
    kubeconfig ${join(settings, 'coredns.kubeconfig')}
    ttl 1
  }
}
.:53 {
  bind ${HOST}
  errors
  ready 127.0.0.1:8181
  # There is no outside: say so at once.
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
`;
}

const ROLE = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:coredns' };
const PORTS = [
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: 'dns-tcp', port: 53, protocol: 'TCP' },
];

/** Renders the Service of DNS, its endpoint address, and the rights of CoreDNS. */
export function renderDns(): object {
  const place = { name: 'kube-dns', namespace: 'kube-system' };
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: ROLE.name },
        rules: [
          { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
          { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
        ],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: ROLE.name },
        roleRef: ROLE,
        subjects: [{ apiGroup: ROLE.apiGroup, kind: 'User', name: 'system:coredns' }],
      },
      { apiVersion: 'v1', kind: 'Service', metadata: place, spec: { clusterIP: DNS_ADDRESS, ports: PORTS } },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { ...place, labels: { 'kubernetes.io/service-name': place.name } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [HOST], conditions: { ready: true } }],
        ports: PORTS,
      },
    ],
  };
}
