import { nearest } from '#crds/parts/nearest';
import type { PodContainer, PodTemplate } from '#crds/parts/pod-template';
import { isAllowedAnnotation } from './allowed-annotation.ts';
import { isAllowedVariable } from './allowed-variable.ts';
import { containersOf, type PodProblem } from './check-pod-restricted.ts';

// This file lists the fields that a template may write. All others are rejected by name, also those that Kubernetes adds later.

/** Scheduling and termination of pods. The admission check covers pull Secrets when the resource is written. */
const OF_POD = [
  'affinity',
  'imagePullSecrets',
  'nodeSelector',
  'priorityClassName',
  'runtimeClassName',
  'securityContext',
  'terminationGracePeriodSeconds',
  'tolerations',
  'topologySpreadConstraints',
];

const LISTS = ['containers', 'initContainers', 'volumes'];

/** Fields whose values the Restricted standard checks. */
const SHARED_CONTEXT = [
  'appArmorProfile',
  'runAsGroup',
  'runAsNonRoot',
  'runAsUser',
  'seLinuxOptions',
  'seccompProfile',
  'windowsOptions',
];
const OF_POD_CONTEXT = [
  ...SHARED_CONTEXT,
  'fsGroup',
  'fsGroupChangePolicy',
  'seLinuxChangePolicy',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'sysctls',
];
const OF_CONTEXT = [
  ...SHARED_CONTEXT,
  'allowPrivilegeEscalation',
  'capabilities',
  'privileged',
  'procMount',
  'readOnlyRootFilesystem',
];

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
const TIMES = [
  'failureThreshold',
  'initialDelaySeconds',
  'periodSeconds',
  'successThreshold',
  'terminationGracePeriodSeconds',
  'timeoutSeconds',
];

/** Fields of a container that vmcp owns. */
const OF_OURS = ['env', 'resources', 'securityContext', ...PROBES];

/** Fields of a container that runs the tenant's own program. */
const OF_OWN = [
  ...OF_OURS,
  'args',
  'command',
  'envFrom',
  'image',
  'imagePullPolicy',
  'lifecycle',
  'name',
  'ports',
  'resizePolicy',
  'restartPolicy',
  'stdin',
  'stdinOnce',
  'terminationMessagePath',
  'terminationMessagePolicy',
  'tty',
  'volumeDevices',
  'volumeMounts',
  'workingDir',
];

/** A driver (`csi`) may expose the secrets of others; the Restricted standard covers `hostPath`. */
const OF_VOLUME = [
  'configMap',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'hostPath',
  'image',
  'name',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
/** Fields of the claim of an ephemeral volume. Kubernetes creates the claim without checking the right to claims. */
const OF_CLAIM = ['accessModes', 'resources', 'storageClassName', 'volumeMode'];
const OF_PROJECTION = ['configMap', 'downwardAPI', 'secret'];
const OF_SOURCE = ['configMapKeyRef', 'fieldRef', 'resourceFieldRef', 'secretKeyRef'];
const OF_ENV_FROM = ['configMapRef', 'prefix', 'secretRef'];

const REMEDIES: Readonly<Record<string, string>> = {
  serviceAccount: "write the resource's own serviceAccount",
  serviceAccountName: "write the resource's own serviceAccount",
  automountServiceAccountToken: "write automountServiceAccountToken of an MCPServer's own spec",
};

export interface TemplateRules {
  rendered: PodTemplate;
  /** Containers that vmcp owns: their programs and mounts must not change. */
  ours: readonly string[];
  ownContainers: boolean;
  /** Annotations that pods may have. Undefined: `POD_ANNOTATIONS`. */
  annotations: readonly string[] | undefined;
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

function changedFields(now: object = {}, before: object = {}): string[] {
  const after = new Map<string, unknown>(Object.entries(now));
  const rendered = new Map<string, unknown>(Object.entries(before));
  return [...new Set([...rendered.keys(), ...after.keys()])].filter(
    (field) => !isSame(after.get(field), rendered.get(field)),
  );
}

function remedyFor(field: string, allowed: readonly string[]): string {
  const meant = nearest(field, allowed);
  return REMEDIES[field] ?? (meant === undefined ? 'remove it' : `did you mean \`${meant}\`?`);
}

function unlisted(
  now: object | undefined,
  before: object | undefined,
  allowed: readonly string[],
  path: string,
): PodProblem[] {
  const fields = changedFields(now, before).filter((field) => !allowed.includes(field));
  return fields.map((field) => ({
    path: `${path}.${field}`,
    message: `may not be written in a template: ${remedyFor(field, allowed)}`,
  }));
}

function metadataProblems({ metadata }: PodTemplate, { rendered, annotations }: TemplateRules): PodProblem[] {
  const changed = changedFields(metadata?.annotations, rendered.metadata?.annotations);
  const refused = changed.filter((name) => !isAllowedAnnotation(name, annotations));
  return [
    ...unlisted(metadata, rendered.metadata, ['annotations', 'labels'], 'metadata'),
    ...refused.map((name) => ({
      path: `metadata.annotations[${name}]`,
      message: 'is no annotation that the operator allows (--pod-annotation): remove it',
    })),
  ];
}

function variableProblems({ env = [] }: PodContainer, before: PodContainer, path: string): PodProblem[] {
  const rendered = before.env ?? [];
  const added = env.filter((one) => !rendered.some((other) => isSame(one, other)) && !isAllowedVariable(one));
  const lost = rendered.filter(({ name }) => !env.some((one) => one.name === name));
  return [
    ...added.map(({ name }) => ({
      path: `${path}.env[${name}]`,
      message: 'may say what runs in a container of ours, where it connects or whom it trusts: remove it',
    })),
    ...lost.map(({ name }) => ({ path: `${path}.env[${name}]`, message: 'is a variable of ours: keep it' })),
  ];
}

/** Rejects changes to the program of a vmcp container. Its resources and probe timings may change. */
function ourProblems(container: PodContainer, before: PodContainer, path: string): PodProblem[] {
  return [
    ...unlisted(container, before, OF_OURS, path),
    ...PROBES.flatMap((probe) => unlisted(container[probe], before[probe], TIMES, `${path}.${probe}`)),
    ...unlisted(container.securityContext, before.securityContext, OF_CONTEXT, `${path}.securityContext`),
    ...variableProblems(container, before, path),
  ];
}

function ownProblems(container: PodContainer, before: PodContainer | undefined, path: string): PodProblem[] {
  const { env = [], envFrom = [] } = container;
  return [
    ...unlisted(container, before, OF_OWN, path),
    ...unlisted(container.securityContext, before?.securityContext, OF_CONTEXT, `${path}.securityContext`),
    ...env.flatMap(({ name, valueFrom }) => unlisted(valueFrom, {}, OF_SOURCE, `${path}.env[${name}].valueFrom`)),
    ...envFrom.flatMap((from, index) => unlisted(from, {}, OF_ENV_FROM, `${path}.envFrom[${index}]`)),
  ];
}

function containerProblems(template: PodTemplate, { rendered, ours, ownContainers }: TemplateRules): PodProblem[] {
  return containersOf(template).flatMap(({ container, path }): PodProblem[] => {
    const before = containersOf(rendered).find((one) => one.path === path)?.container;
    if (before && ours.includes(before.name)) return ourProblems(container, before, path);
    if (!before && !ownContainers)
      return [{ path, message: 'no container may be added to the pods of an endpoint: remove it' }];
    return ownProblems(container, before, path);
  });
}

/** Checks the volumes that the template adds. `findTenancyProblems` rejects changes of vmcp volumes. */
function volumeProblems({ spec }: PodTemplate, { rendered, ownContainers }: TemplateRules): PodProblem[] {
  const ours = new Set(rendered.spec.volumes?.map(({ name }) => name));
  const added = (spec.volumes ?? []).filter(({ name }) => !ours.has(name));
  return added.flatMap((volume): PodProblem[] => {
    const path = `spec.volumes[${volume.name}]`;
    if (!ownContainers) return [{ path, message: 'no volume may be added to the pods of an endpoint: remove it' }];
    const sources = volume.projected?.sources ?? [];
    const claim = volume.ephemeral?.volumeClaimTemplate;
    const claimPath = `${path}.ephemeral.volumeClaimTemplate`;
    return [
      ...unlisted(volume, {}, OF_VOLUME, path),
      ...sources.flatMap((source) => unlisted(source, {}, OF_PROJECTION, `${path}.projected`)),
      ...unlisted(claim, {}, ['spec'], claimPath),
      ...unlisted(claim?.spec, {}, OF_CLAIM, `${claimPath}.spec`),
    ];
  });
}

export function findFieldProblems(template: PodTemplate, rules: TemplateRules): PodProblem[] {
  const { spec } = template;
  const { spec: before } = rules.rendered;
  return [
    ...metadataProblems(template, rules),
    ...unlisted(spec, before, [...OF_POD, ...LISTS], 'spec'),
    ...unlisted(spec.securityContext, before.securityContext, OF_POD_CONTEXT, 'spec.securityContext'),
    ...volumeProblems(template, rules),
    ...containerProblems(template, rules),
  ];
}
