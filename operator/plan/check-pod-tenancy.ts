import type { PodContainer, PodTemplate, PodVolume } from '#crds/parts/pod-template';
import { containersOf, type PodProblem } from './check-pod-restricted.ts';
import { findFieldProblems, type TemplateRules } from './check-template-fields.ts';

export interface Tenancy extends TemplateRules {
  /** Secrets that the other fields of the resource name. */
  secrets: Set<string>;
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

function lostContainers(template: PodTemplate, { rendered, ours }: Tenancy): PodProblem[] {
  const left = new Set(containersOf(template).map(({ path }) => path));
  const lost = containersOf(rendered).filter(({ container, path }) => ours.includes(container.name) && !left.has(path));
  return lost.map(({ path }) => ({ path, message: 'is a container of ours: keep it' }));
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

function labelProblems({ metadata }: PodTemplate, { rendered }: Tenancy): PodProblem[] {
  const changed = Object.entries(rendered.metadata?.labels ?? {}).filter(
    ([label, value]) => metadata?.labels?.[label] !== value,
  );
  return changed.map(([label]) => ({ path: `metadata.labels[${label}]`, message: 'selects the pods: remove it' }));
}

/** Rejects mounts of rendered secret volumes in containers that they were not rendered for. */
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

/** Finds access that the other fields of the resource do not give. */
export function findTenancyProblems(template: PodTemplate, tenancy: Tenancy): PodProblem[] {
  return [
    ...labelProblems(template, tenancy),
    ...lostVolumes(template, tenancy),
    ...(template.spec.volumes ?? []).flatMap((volume) => volumeProblems(volume, tenancy)),
    ...lostContainers(template, tenancy),
    ...containersOf(template).flatMap(({ container, path }) => [
      ...variableProblems(container, path, tenancy),
      ...mountProblems(container, path, tenancy),
    ]),
    ...findFieldProblems(template, tenancy),
  ];
}
