/** Maps below `spec` whose entries become labels of pods. Services and NetworkPolicies of others select by them. */
export const POD_LABELS = [
  ['podTemplateSpec', 'metadata', 'labels'],
  ['resourceOverrides', 'proxyDeployment', 'podLabels'],
] as const;
