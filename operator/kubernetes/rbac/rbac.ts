// Permissions of the operator in a cluster. management-permissions.ts has those of the management API, user-roles.ts those of users. The
// chart's roles and docs/permissions.md are generated from them.

/** Placeholder for the API group of the kinds, which is chosen at install time. */
export const OWN_GROUP = '<api_group>';

/** Placeholder for the prefix of the chart's object names, which contains the release name. */
export const OWN_NAME = '<name>';

/**
 * The scope of a permission. watched: each namespace that the installation watches, by default all. own: the namespace of the installation.
 * cluster: cluster-scoped objects.
 */
export const SCOPES = ['watched', 'own', 'cluster'] as const;
type Scope = (typeof SCOPES)[number];

/** Chart values that enable a permission. */
type Switch = 'stdio.attach' | 'webhook.enabled' | 'management.enabled';

export interface Rule {
  /** API group; empty for the core group. */
  group?: string;
  resources?: string[];
  /** Restricts the permission to objects with these names. */
  names?: string[];
  /** Non-resource paths of the API server. */
  paths?: string[];
  verbs: string[];
  /** Chart value that must be true. */
  when?: Switch;
  /** Reason for the permission. */
  why: string;
}

export interface Permission extends Rule {
  scope: Scope;
}

export const READ = ['get', 'list', 'watch'];
/** Server-side apply needs patch, and create for new objects; obsolete objects are deleted. */
const KEEP = [...READ, 'create', 'patch', 'delete'];

export const KINDS = ['virtualmcpservers', 'mcpgroups', 'mcpservers', 'mcpexternalauthconfigs', 'mcpoidcconfigs'];
/** Kinds that own children. */
const OWNERS = ['virtualmcpservers', 'mcpservers'];

const of = (resources: string[], subresource: string) => resources.map((resource) => `${resource}/${subresource}`);

/** The permissions of the operator. A test compares them with requests to the API server. */
export const OPERATOR_PERMISSIONS: readonly Permission[] = [
  { scope: 'watched', group: OWN_GROUP, resources: KINDS, verbs: READ, why: 'what is reconciled' },
  { scope: 'watched', group: OWN_GROUP, resources: of(KINDS, 'status'), verbs: ['patch'], why: 'says how it went' },
  {
    scope: 'watched',
    group: OWN_GROUP,
    resources: of(OWNERS, 'finalizers'),
    verbs: ['update'],
    why: 'owner references that hold back the deletion of the owner, where the cluster asks for this',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['secrets', 'configmaps', 'services', 'serviceaccounts'],
    verbs: KEEP,
    why: 'children; and the Secrets and ConfigMaps that resources name, watched as metadata and read one by one',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods'],
    verbs: READ,
    why: 'finds the runtimes, whose /status it asks, and why pods do not start',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods/status'],
    verbs: ['patch'],
    why: 'an annotation that makes the kubelet refresh the files of a pod at once',
  },
  { scope: 'watched', group: '', resources: ['events'], verbs: ['create', 'patch'], why: 'tells of transitions' },
  { scope: 'watched', group: 'apps', resources: ['deployments'], verbs: KEEP, why: 'children' },
  {
    scope: 'watched',
    group: 'policy',
    resources: ['poddisruptionbudgets'],
    verbs: KEEP,
    why: 'children, from two replicas',
  },
  {
    scope: 'watched',
    group: 'autoscaling',
    resources: ['horizontalpodautoscalers'],
    verbs: KEEP,
    why: 'children, with autoscaling',
  },
  {
    scope: 'watched',
    group: 'networking.k8s.io',
    resources: ['networkpolicies'],
    verbs: KEEP,
    why: 'children: who reaches a backend and the private port',
  },
  {
    scope: 'watched',
    group: 'apps',
    resources: ['statefulsets'],
    verbs: KEEP,
    when: 'stdio.attach',
    why: 'images on stdio without command: a pod whose name is known',
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
    why: 'nobody may give away what they do not have; the operator itself attaches to nothing',
  },
  {
    scope: 'own',
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['get', 'create', 'update'],
    why: 'one operator of several leads',
  },
  {
    scope: 'own',
    group: 'apps',
    resources: ['deployments'],
    names: [OWN_NAME],
    verbs: ['get'],
    why: 'the owner of the Lease, which goes with it when the chart is uninstalled',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets'],
    verbs: ['create'],
    why: 'the key under which values of Secrets are hashed, and certificates of the operator, each made once',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets'],
    names: ['vmcp-operator-digest-key'],
    verbs: ['get'],
    why: 'the key under which values of Secrets are hashed',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets'],
    names: [`${OWN_NAME}-webhook`],
    verbs: ['get', 'update'],
    when: 'webhook.enabled',
    why: 'the certificate of the webhook',
  },
  {
    scope: 'cluster',
    group: 'admissionregistration.k8s.io',
    resources: ['validatingwebhookconfigurations'],
    names: [OWN_NAME],
    verbs: ['get', 'patch'],
    when: 'webhook.enabled',
    why: 'the certificate authority of the webhook',
  },
  {
    scope: 'cluster',
    paths: ['/.well-known/openid-configuration', '/openid/v1/jwks'],
    verbs: ['get'],
    why: 'issuer and key set of service account tokens, for oidcConfig.type kubernetes',
  },
];
