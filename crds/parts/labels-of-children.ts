/** Maps below `spec` that become labels of one kind of object, and why a writer of them needs the right to create such objects. */
interface LabelledObjects {
  group: string;
  plural: string;
  /** Completes "labels of <plural>". */
  effect: string;
  maps: readonly (readonly string[])[];
}

/** Others select objects by labels, so a writer of labels needs the right to create objects with these labels anyway. */
export const LABELS_OF_CHILDREN: readonly LabelledObjects[] = [
  {
    group: '',
    plural: 'pods',
    effect: 'decide which Services and NetworkPolicies take them',
    maps: [
      ['podTemplateSpec', 'metadata', 'labels'],
      ['resourceOverrides', 'proxyDeployment', 'podLabels'],
    ],
  },
  {
    group: 'apps',
    plural: 'deployments',
    effect: 'decide which controllers act on them',
    maps: [['resourceOverrides', 'proxyDeployment', 'labels']],
  },
  {
    group: '',
    plural: 'services',
    effect: 'decide which controllers act on them',
    maps: [['resourceOverrides', 'proxyService', 'labels']],
  },
];
