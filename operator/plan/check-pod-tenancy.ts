import type { PodContainer, PodTemplate, PodVolume } from '#crds/parts/pod-template';
import { bringsCode } from './brings-code.ts';
import { containersOf, type PodProblem } from './check-pod-restricted.ts';

/** What a template may say beside the standard. */
export interface Tenancy {
  /** The rendered template, before anything was merged. */
  rendered: PodTemplate;
  /** Containers that are ours: what they run and what they see is not to be changed. */
  ours: string[];
  /** Secrets that the resource's own fields name. */
  secrets: Set<string>;
  /** The resource is in the namespace of the operator. */
  besideOperator: boolean;
}

function accountProblems({ spec }: PodTemplate, { rendered, besideOperator }: Tenancy): PodProblem[] {
  const { serviceAccountName: ours, automountServiceAccountToken: mounted } = rendered.spec;
  const written = spec.serviceAccountName ?? spec.serviceAccount;
  return [
    ...(besideOperator && (written !== ours || spec.serviceAccount !== undefined)
      ? [
          {
            path: 'spec.serviceAccountName',
            message: 'no service account of the namespace of the operator: remove it, or use another namespace',
          },
        ]
      : []),
    ...(spec.automountServiceAccountToken !== false && mounted !== true
      ? [{ path: 'spec.automountServiceAccountToken', message: 'no token is mounted: remove it' }]
      : []),
  ];
}

const MISSING = 'is not named by the fields of spec: name it there, or remove it';

function secretProblem(name: string | undefined, path: string, { secrets }: Tenancy): PodProblem[] {
  if (name === undefined || secrets.has(name)) return [];
  return [{ path, message: `Secret "${name}" ${MISSING}` }];
}

function volumeProblems(volume: PodVolume, tenancy: Tenancy): PodProblem[] {
  const ours = tenancy.rendered.spec.volumes?.find(({ name }) => name === volume.name);
  if (ours && JSON.stringify(ours) === JSON.stringify(volume)) return [];
  const path = `spec.volumes[${volume.name}]`;
  if (ours) return [{ path, message: 'is a volume of ours: use another name' }];
  const sources = volume.projected?.sources ?? [];
  return [
    ...secretProblem(volume.secret?.secretName, `${path}.secret`, tenancy),
    ...secretProblem(volume.csi?.nodePublishSecretRef?.name, `${path}.csi.nodePublishSecretRef`, tenancy),
    ...sources.flatMap(({ secret }) => secretProblem(secret?.name, `${path}.projected.secret`, tenancy)),
    ...sources.flatMap(({ serviceAccountToken }) =>
      serviceAccountToken
        ? [{ path: `${path}.projected.serviceAccountToken`, message: 'no token is mounted: remove it' }]
        : [],
    ),
  ];
}

function lostVolumes({ spec }: PodTemplate, { rendered }: Tenancy): PodProblem[] {
  const left = new Set(spec.volumes?.map(({ name }) => name));
  const lost = (rendered.spec.volumes ?? []).filter(({ name }) => !left.has(name));
  return lost.map(({ name }) => ({ path: `spec.volumes[${name}]`, message: 'is a volume of ours: keep it' }));
}

function variableProblems(container: PodContainer, path: string, tenancy: Tenancy): PodProblem[] {
  const { env = [], envFrom = [] } = container;
  return [
    ...env.flatMap(({ name, valueFrom }) =>
      secretProblem(valueFrom?.secretKeyRef?.name, `${path}.env[${name}]`, tenancy),
    ),
    ...envFrom.flatMap(({ secretRef }, index) => secretProblem(secretRef?.name, `${path}.envFrom[${index}]`, tenancy)),
  ];
}

/** What decides what runs in a container, and which files it sees. Whatever runs there reads what it knows of all callers. */
const FIXED = ['image', 'command', 'args', 'volumeMounts', 'volumeDevices'] as const;

/** Commands that the kubelet runs in a container. */
function commandProblems({ livenessProbe, readinessProbe, startupProbe, lifecycle }: PodContainer, path: string) {
  const handlers = { livenessProbe, readinessProbe, startupProbe, ...lifecycle };
  const commands = Object.entries(handlers).filter(([, handler]) => handler?.exec);
  return commands.map(([name]) => ({
    path: `${path}.${name}.exec`,
    message: 'runs in a container of ours: remove it',
  }));
}

function ownVariableProblems({ env = [], envFrom = [] }: PodContainer, path: string): PodProblem[] {
  const message = 'may bring code into a container of ours: remove it';
  return [
    ...env.filter(bringsCode).map(({ name }) => ({ path: `${path}.env[${name}]`, message })),
    ...envFrom.flatMap(({ configMapRef }, index) =>
      configMapRef ? [{ path: `${path}.envFrom[${index}].configMapRef`, message }] : [],
    ),
  ];
}

function ownProblems(template: PodTemplate, { rendered, ours }: Tenancy): PodProblem[] {
  const shared = { path: 'spec.shareProcessNamespace', message: 'lets containers read each other: remove it' };
  const problems = containersOf(rendered)
    .filter(({ container }) => ours.includes(container.name))
    .flatMap(({ container, path }) => {
      const there = containersOf(template).find((one) => one.path === path)?.container;
      if (!there) return [{ path, message: 'is a container of ours: keep it' }];
      const changed = FIXED.filter((field) => JSON.stringify(there[field]) !== JSON.stringify(container[field]));
      return [
        ...changed.map((field) => ({ path: `${path}.${field}`, message: 'is not to be changed: remove it' })),
        ...commandProblems(there, path),
        ...ownVariableProblems(there, path),
      ];
    });
  return ours.length > 0 && template.spec.shareProcessNamespace ? [...problems, shared] : problems;
}

function labelProblems({ metadata }: PodTemplate, { rendered }: Tenancy): PodProblem[] {
  const changed = Object.entries(rendered.metadata?.labels ?? {}).filter(
    ([label, value]) => metadata?.labels?.[label] !== value,
  );
  return changed.map(([label]) => ({ path: `metadata.labels[${label}]`, message: 'selects the pods: remove it' }));
}

/** What a rendered volume keeps secret is for the containers that it was rendered for. */
function mountProblems(container: PodContainer, path: string, { rendered }: Tenancy): PodProblem[] {
  const own = containersOf(rendered).find((one) => one.path === path)?.container.volumeMounts ?? [];
  const secret = (rendered.spec.volumes ?? []).filter((volume) => volume.secret ?? volume.projected);
  const taken = (container.volumeMounts ?? []).filter(
    ({ name }) => secret.some((volume) => volume.name === name) && !own.some((mount) => mount.name === name),
  );
  return taken.map(({ name }) => ({
    path: `${path}.volumeMounts[${name}]`,
    message: 'is a volume of ours: remove it',
  }));
}

/** What would give a resource more than its own fields say. */
export function findTenancyProblems(template: PodTemplate, tenancy: Tenancy): PodProblem[] {
  return [
    ...labelProblems(template, tenancy),
    ...accountProblems(template, tenancy),
    ...lostVolumes(template, tenancy),
    ...(template.spec.volumes ?? []).flatMap((volume) => volumeProblems(volume, tenancy)),
    ...ownProblems(template, tenancy),
    ...containersOf(template).flatMap(({ container, path }) => [
      ...variableProblems(container, path, tenancy),
      ...mountProblems(container, path, tenancy),
    ]),
  ];
}
