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
    why: 'what its callers read and change, each after a review of their own rights',
  },
  {
    scope: 'watched',
    group: OWN_GROUP,
    resources: ['mcpexternalauthconfigs', 'mcpgroups'],
    verbs: ['use'],
    why: 'the admission policy asks for it of who writes; callers are asked for it, too',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['serviceaccounts'],
    verbs: ['use'],
    why: 'the same for the account that a workload names',
  },
  {
    scope: 'watched',
    group: OWN_GROUP,
    resources: KEPT,
    verbs: ['update'],
    why: 'the admission policy asks for it of who writes records',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['configmaps'],
    verbs: ['get', 'list', 'create', 'update', 'delete'],
    why: 'records, and permission profiles of workloads',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'create', 'update'],
    why: 'the Secret of its provider, and those that registries name; the admission policy asks for `get` of who names one',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods'],
    verbs: ['get', 'list'],
    why: 'which pods a workload has',
  },
  {
    scope: 'watched',
    group: '',
    resources: ['pods/log'],
    verbs: ['get'],
    why: 'logs of workloads, for callers who may read them',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets', 'configmaps'],
    verbs: ['create'],
    why: 'its certificate, and the authority that its callers trust, each made once',
  },
  {
    scope: 'own',
    group: '',
    resources: ['secrets'],
    names: [`${OWN_NAME}-management`],
    verbs: ['get', 'update'],
    why: 'its certificate',
  },
  {
    scope: 'own',
    group: '',
    resources: ['configmaps'],
    names: [`${OWN_NAME}-management-ca`],
    verbs: ['get', 'update'],
    why: 'the authority that its callers trust',
  },
  {
    scope: 'cluster',
    group: 'authentication.k8s.io',
    resources: ['tokenreviews'],
    verbs: ['create'],
    why: 'who calls it',
  },
  {
    scope: 'cluster',
    group: 'authorization.k8s.io',
    resources: ['subjectaccessreviews'],
    verbs: ['create'],
    why: 'what its caller may do',
  },
];
