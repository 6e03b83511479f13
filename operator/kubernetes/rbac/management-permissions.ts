import { KINDS, OWN_GROUP, OWN_NAME, type Permission } from './rbac.ts';

/** Records of the management API. No CRD defines them, but the API server decides about rights to them. */
export const KEPT = ['clients', 'registries', 'skills'];

/** The permissions of the management API's own account. A test compares them with requests to the API server. */
export const MANAGEMENT_PERMISSIONS: readonly Permission[] = [
  {
    scope: 'watched',
    group: OWN_GROUP,
    resources: KINDS,
    verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'],
    why: 'reads and changes resources for its callers, after a review of their own rights',
  },
  {
    scope: 'watched',
    group: OWN_GROUP,
    resources: ['mcpexternalauthconfigs', 'mcpgroups'],
    verbs: ['use'],
    why: 'satisfies the admission policy, which requires it of writers; callers need it too',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['serviceaccounts'],
    verbs: ['use'],
    why: 'satisfies the admission policy for the account that a workload names',
  },
  {
    scope: 'watched',
    group: OWN_GROUP,
    resources: KEPT,
    verbs: ['update'],
    why: 'satisfies the admission policy, which requires it of writers of records',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['configmaps'],
    verbs: ['get', 'list', 'create', 'update', 'delete'],
    why: 'keeps records, and permission profiles of workloads',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'create', 'update'],
    why: 'keeps the Secret of its provider and reads those that registries name; the admission policy requires `get` for these',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods'],
    verbs: ['get', 'list'],
    why: 'finds the pods of a workload',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods/log'],
    verbs: ['get'],
    why: 'reads logs of workloads for callers with this right',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets', 'configmaps'],
    verbs: ['create'],
    why: 'makes, once, its certificate and the authority that its callers trust',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets'],
    names: [`${OWN_NAME}-management`],
    verbs: ['get', 'update'],
    why: 'renews its certificate',
  },
  {
    scope: 'own',
    group: '',
    resources: ['configmaps'],
    names: [`${OWN_NAME}-management-ca`],
    verbs: ['get', 'update'],
    why: 'renews the authority that its callers trust',
  },
  {
    scope: 'cluster',
    group: 'authentication.k8s.io',
    resources: ['tokenreviews'],
    verbs: ['create'],
    why: 'authenticates its caller',
  },
  {
    scope: 'cluster',
    group: 'authorization.k8s.io',
    resources: ['subjectaccessreviews'],
    verbs: ['create'],
    why: 'checks the rights of its caller',
  },
];
