import { PodTemplate } from '#crds/parts/pod-template';
import { readValue } from '#crds/parts/read-value';
import { Stalled } from '../errors.ts';
import type { ClusterFacts, Manifest, Snapshot } from '../snapshot.ts';
import { findRestrictedProblems, type PodProblem } from './check-pod-restricted.ts';
import { findTenancyProblems } from './check-pod-tenancy.ts';
import { mergePodTemplate } from './merge-pod-template.ts';

/** Problems that a message lists. */
const NAMED = 10;

/** Fields whose names refer to no Secret that a pod may read; some have the tenant's keys, such as a tool called `get_secret`. */
const FOREIGN = new Set(['podTemplateSpec', 'imagePullSecrets', 'backends', 'overrides', 'toolsOverride']);

/** Returns the names of all Secrets that a spec refers to, without those in the template itself. */
function namedSecrets(value: unknown, inSecret = false): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = inSecret && 'name' in value && typeof value.name === 'string' ? [value.name] : [];
  const fields = Object.entries(value).filter(([field]) => !FOREIGN.has(field));
  return [...own, ...fields.flatMap(([field, part]) => namedSecrets(part, inSecret || /secret|password/i.test(field)))];
}

function refuse(place: string, problems: PodProblem[]): never {
  const list = problems.slice(0, NAMED).map(({ path, message, hostAccess }) => {
    const allow = hostAccess ? '; only the administrator of the operator can allow it' : '';
    return `${path}: ${message}${allow}`;
  });
  const more = problems.length > NAMED ? [`and ${problems.length - NAMED} more`] : [];
  throw new Stalled(
    'PodTemplateNotAllowed',
    `${place} podTemplateSpec.${[...list, ...more].join('; podTemplateSpec.')}`,
  );
}

/** Verifies that a resource in the operator's namespace names no account: it could take the operator's own. @throws Stalled */
export function checkServiceAccount(
  { kind, metadata }: Manifest,
  account: string | undefined,
  { operatorNamespace }: ClusterFacts,
  { namespace }: Snapshot,
): void {
  if (account === undefined || namespace !== operatorNamespace) return;
  const message = `${kind} "${metadata.name}": serviceAccount "${account}" is one of the namespace of the operator: remove it, or use another namespace`;
  throw new Stalled('ServiceAccountNotAllowed', message);
}

interface Written {
  manifest: Manifest;
  template: object | undefined;
  ours: string[];
  ownContainers: boolean;
}

function read(template: unknown, place: string): PodTemplate {
  const checked = readValue(PodTemplate, template);
  if ('data' in checked) return checked.data;
  throw new Stalled('InvalidPodTemplate', `${place} podTemplateSpec: ${checked.problems.join('; ')}`);
}

/** Keeps the first problem of each path: the standard reports more than the list of fields. */
function firstOfEach(problems: PodProblem[]): PodProblem[] {
  const seen = new Set<string>();
  return problems.filter(({ path }) => {
    const isNew = !seen.has(path);
    seen.add(path);
    return isNew;
  });
}

/** Merges like the API server. A template gives its writer no more than the other fields do. @throws Stalled with path and remedy */
export function applyPodTemplate<T extends object>(
  rendered: T,
  { manifest, template, ours, ownContainers }: Written,
  cluster: ClusterFacts,
): T {
  if (!template) return rendered;
  const place = `${manifest.kind} "${manifest.metadata.name}"`;
  const merged = mergePodTemplate(rendered, template);
  const checked = read(merged, place);
  const tenancy = {
    rendered: read(rendered, place),
    ours,
    ownContainers,
    annotations: cluster.podAnnotations,
    secrets: new Set(namedSecrets(manifest.spec)),
  };
  const problems = firstOfEach([
    ...findRestrictedProblems(checked).filter(({ hostAccess }) => !(hostAccess && cluster.allowHostPaths)),
    ...findTenancyProblems(checked, tenancy),
  ]);
  if (problems.length > 0) refuse(place, problems);
  return merged as T;
}
