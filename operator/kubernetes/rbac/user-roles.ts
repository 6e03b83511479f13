import { KEPT } from './management-permissions.ts';
import { KINDS, OWN_GROUP, READ, type Rule } from './rbac.ts';

interface UserRole {
  name: 'view' | 'edit';
  meaning: string;
  aggregateTo: string[];
  rules: Rule[];
}

const MANAGED = 'by the management API, and by `vmcp --context`';

export const USER_ROLES: readonly UserRole[] = [
  {
    name: 'view',
    meaning: 'Reads every resource of these kinds, and no Secret.',
    aggregateTo: ['view', 'edit', 'admin'],
    rules: [
      { group: OWN_GROUP, resources: KINDS, verbs: READ, why: 'reads resources' },
      { group: OWN_GROUP, resources: ['virtualmcpservers/scale'], verbs: ['get'], why: 'reads the number of pods' },
      { group: OWN_GROUP, resources: KEPT, verbs: ['get', 'list'], why: MANAGED },
    ],
  },
  {
    name: 'edit',
    meaning:
      'Writes these kinds. This equals creating pods and reading Secrets in the namespace: an MCPServer names its image and its Secrets.',
    aggregateTo: ['edit', 'admin'],
    rules: [
      {
        group: OWN_GROUP,
        resources: KINDS,
        verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
        why: 'writes resources',
      },
      {
        group: OWN_GROUP,
        resources: ['virtualmcpservers/scale'],
        verbs: ['update', 'patch'],
        why: 'allows kubectl scale',
      },
      {
        group: OWN_GROUP,
        resources: ['mcpexternalauthconfigs'],
        verbs: ['use'],
        why: 'refers to a configuration, whose credentials then go to the referring backend',
      },
      {
        group: OWN_GROUP,
        resources: ['mcpoidcconfigs'],
        verbs: ['use'],
        why: 'writes a configuration, which decides about the callers of each server that names it',
      },
      {
        group: OWN_GROUP,
        resources: ['mcpgroups'],
        verbs: ['use'],
        why: "joins or serves a group, and so uses its members' credentials",
      },
      {
        group: '',
        resources: ['serviceaccounts'],
        verbs: ['use'],
        why: 'runs pods as an account; the built-in role edit has this right already',
      },
      {
        group: OWN_GROUP,
        resources: KEPT,
        verbs: ['create', 'update', 'delete'],
        why: MANAGED,
      },
      {
        group: OWN_GROUP,
        resources: ['secretproviders'],
        verbs: ['get', 'update'],
        when: 'management.enabled',
        why: 'manages keys of stored secrets by the management API; storing one also needs the right to write Secrets',
      },
    ],
  },
];
