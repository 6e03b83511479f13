import type { z } from 'zod';
import { transportOf } from '#crds/kinds/index';
import { hasOwnEndpoint } from '#operator/plan/own-endpoint';
import type { WorkloadChanged, WorkloadSummary } from '../records/workload.ts';
import type { StoredResource } from '../stores/resources.ts';
import { readSpec, type Spec } from './spec.ts';
import type { WorkloadState } from './workload-state.ts';

/** Arguments may hold what nobody else should read: only the program is named, and a package that it runs. */
function packageOf({ image, remoteUrl, command }: Spec): string {
  if (remoteUrl !== undefined) return '';
  if (command === undefined) return image ?? '';
  const [program = '', ...rest] = command;
  const named = rest.find((argument) => !argument.startsWith('-'));
  return /(^|\/)(npx|uvx)$/.test(program) && named !== undefined ? named : program;
}

/** Port of a URL; what is on stdio has none. */
function portOf(url: string | undefined): number | undefined {
  const { port, protocol } = (url === undefined ? undefined : URL.parse(url)) ?? {};
  const usual = protocol === undefined ? undefined : USUAL_PORTS.get(protocol);
  return usual && (Number(port) || usual);
}

const USUAL_PORTS = new Map([
  ['http:', 80],
  ['https:', 443],
]);

/** Port of its own endpoint: the one that is written, or that it was given; undefined where it has none, or not yet. */
export function ownPortOf({ spec: written, status }: Pick<StoredResource, 'spec' | 'status'>): number | undefined {
  const spec = readSpec(written);
  // Until it is ready its status may tell of its program alone.
  const given = status?.url === spec.remoteUrl ? undefined : portOf(status?.url);
  return hasOwnEndpoint(spec) ? (spec.proxyPort ?? given) : undefined;
}

/** Since when a resource is ready. */
function readySince({ status }: StoredResource): string | undefined {
  return status?.conditions.find(({ type, status: holds }) => type === 'Ready' && holds === 'True')?.lastTransitionTime;
}

/** A workload as an entry of a list. */
export function renderSummary(resource: StoredResource, { status, context }: WorkloadState): WorkloadSummary {
  const spec = readSpec(resource.spec);
  const url = resource.status?.url;
  const since = status === 'running' || status === 'unhealthy' ? readySince(resource) : undefined;
  const port = portOf(url);
  return {
    name: resource.name,
    status,
    status_context: context,
    package: packageOf(spec),
    remote: spec.remoteUrl !== undefined,
    transport_type: transportOf(spec),
    proxy_mode: spec.proxyMode ?? 'streamable-http',
    group: spec.groupRef ?? '',
    labels: resource.labels,
    tools: spec.toolsFilter ?? [],
    ...(url !== undefined && { url }),
    ...(port !== undefined && { port }),
    ...(resource.createdAt !== undefined && { created_at: resource.createdAt }),
    ...(since !== undefined && { started_at: since }),
  };
}

/** What came of a change. */
export function renderChanged(resource: StoredResource): z.input<typeof WorkloadChanged> {
  return { name: resource.name, port: ownPortOf(resource) ?? 0 };
}
