// The chart's roles and docs/reference/permissions.md are generated from this file, management-permissions.ts and user-roles.ts.

/** Placeholder for the API group of the kinds, which is chosen at install time. */
export const OWN_GROUP = '<api_group>';

/** Placeholder for the prefix of the chart's object names, which contains the release name. */
export const OWN_NAME = '<name>';

/** watched: each watched namespace (default: all). own: the namespace of the installation. cluster: cluster-scoped objects. */
export const SCOPES = ['watched', 'own', 'cluster'] as const;
type Scope = (typeof SCOPES)[number];

type Switch = 'stdio.attach' | 'webhook.enabled' | 'management.enabled';

export interface Rule {
  /** API group; empty for the core group. */
  group?: string;
  resources?: string[];
  names?: string[];
  /** Non-resource paths of the API server. */
  paths?: string[];
  verbs: string[];
  when?: Switch;
  why: string;
}

export interface Permission extends Rule {
  scope: Scope;
}

export const READ = ['get', 'list', 'watch'];
/** Server-side apply needs patch, and create for new objects; obsolete objects are deleted. */
const KEEP = [...READ, 'create', 'patch', 'delete'];

export const KINDS = ['virtualmcpservers', 'mcpgroups', 'mcpservers', 'mcpexternalauthconfigs', 'mcpoidcconfigs'];
const OWNERS = ['virtualmcpservers', 'mcpservers'];

const of = (resources: string[], subresource: string) => resources.map((resource) => `${resource}/${subresource}`);

/** The permissions of the operator. A test compares them with requests to the API server. */
export const OPERATOR_PERMISSIONS: readonly Permission[] = [
  { scope: 'watched', group: OWN_GROUP, resources: KINDS, verbs: READ, why: 'reads the resources that it reconciles' },
  { scope: 'watched', group: OWN_GROUP, resources: of(KINDS, 'status'), verbs: ['patch'], why: 'writes the result' },
  {
    scope: 'watched',
    group: OWN_GROUP,
    resources: of(OWNERS, 'finalizers'),
    verbs: ['update'],
    why: 'sets owner references that block the deletion of the owner, where the cluster requires this right',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['secrets', 'configmaps', 'services', 'serviceaccounts'],
    verbs: KEEP,
    why: 'manages children; watches named Secrets and ConfigMaps as metadata and reads them one by one',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods'],
    verbs: READ,
    why: 'finds the runtimes, whose /status it reads, and the reason why a pod does not start',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods/status'],
    verbs: ['patch'],
    why: 'sets an annotation, so that the kubelet refreshes the files of a pod at once',
  },
  { scope: 'watched', group: '', resources: ['events'], verbs: ['create', 'patch'], why: 'reports transitions' },
  { scope: 'watched', group: 'apps', resources: ['deployments'], verbs: KEEP, why: 'manages children' },
  {
    scope: 'watched',
    group: 'policy',
    resources: ['poddisruptionbudgets'],
    verbs: KEEP,
    why: 'manages children, from two replicas',
  },
  {
    scope: 'watched',
    group: 'autoscaling',
    resources: ['horizontalpodautoscalers'],
    verbs: KEEP,
    why: 'manages children, with autoscaling',
  },
  {
    scope: 'watched',
    group: 'networking.k8s.io',
    resources: ['networkpolicies'],
    verbs: KEEP,
    why: 'manages children, which restrict access to backends and to the private port',
  },
  {
    scope: 'watched',
    group: 'apps',
    resources: ['statefulsets'],
    verbs: KEEP,
    when: 'stdio.attach',
    why: 'runs images on stdio without a command, in pods with known names',
  },
  {
    scope: 'watched',
    group: 'rbac.authorization.k8s.io',
    resources: ['roles', 'rolebindings'],
    verbs: KEEP,
    when: 'stdio.attach',
    why: 'lets the bridge of such an image attach to its own pod, and to no other',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods/attach'],
    verbs: ['get', 'create'],
    when: 'stdio.attach',
    why: 'a role can grant only rights of its author; the operator itself never attaches',
  },
  {
    scope: 'own',
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['get', 'create', 'update'],
    why: 'elects the leader of several operators',
  },
  {
    scope: 'own',
    group: 'apps',
    resources: ['deployments'],
    names: [OWN_NAME],
    verbs: ['get'],
    why: 'reads the owner of the Lease; uninstalling the chart deletes both',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets'],
    verbs: ['create'],
    why: 'makes, once, the key for digests of Secret values and the certificates of the operator',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets'],
    names: ['vmcp-operator-digest-key'],
    verbs: ['get'],
    why: 'reads the key for digests of Secret values',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets'],
    names: [`${OWN_NAME}-webhook`],
    verbs: ['get', 'update'],
    when: 'webhook.enabled',
    why: 'renews the certificate of the webhook',
  },
  {
    scope: 'cluster',
    group: 'admissionregistration.k8s.io',
    resources: ['validatingwebhookconfigurations'],
    names: [OWN_NAME],
    verbs: ['get', 'patch'],
    when: 'webhook.enabled',
    why: 'sets the certificate authority of the webhook',
  },
  {
    scope: 'cluster',
    paths: ['/.well-known/openid-configuration', '/openid/v1/jwks'],
    verbs: ['get'],
    why: 'reads issuer and key set of service account tokens, for oidcConfig.type kubernetes',
  },
];
