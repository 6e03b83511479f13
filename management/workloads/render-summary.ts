import type { z } from 'zod';
import { transportOf } from '#crds/kinds/index';
import { hasOwnEndpoint } from '#operator/plan/own-endpoint';
import type { WorkloadChanged, WorkloadSummary } from '../records/workload.ts';
import type { StoredResource } from '../stores/resources.ts';
import { readSpec, type Spec } from './spec.ts';
import type { WorkloadState } from './workload-state.ts';

/** Omits arguments, because they may be confidential. */
function packageOf({ image, remoteUrl, command }: Spec): string {
  if (remoteUrl !== undefined) return '';
  if (command === undefined) return image ?? '';
  const [program = '', ...rest] = command;
  const named = rest.find((argument) => !argument.startsWith('-'));
  return /(^|\/)(npx|uvx)$/.test(program) && named !== undefined ? named : program;
}

function portOf(url: string | undefined): number | undefined {
  const { port, protocol } = (url === undefined ? undefined : URL.parse(url)) ?? {};
  const usual = protocol === undefined ? undefined : USUAL_PORTS.get(protocol);
  return usual && (Number(port) || usual);
}

const USUAL_PORTS = new Map([
  ['http:', 80],
  ['https:', 443],
]);

export function ownPortOf({ spec: written, status }: Pick<StoredResource, 'spec' | 'status'>): number | undefined {
  const spec = readSpec(written);
  // Until the resource is ready, its status may describe only the program.
  const given = status?.url === spec.remoteUrl ? undefined : portOf(status?.url);
  return hasOwnEndpoint(spec) ? (spec.proxyPort ?? given) : undefined;
}

function readySince({ status }: StoredResource): string | undefined {
  return status?.conditions.find(({ type, status: holds }) => type === 'Ready' && holds === 'True')?.lastTransitionTime;
}

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

export function renderChanged(resource: StoredResource): z.input<typeof WorkloadChanged> {
  return { name: resource.name, port: ownPortOf(resource) ?? 0 };
}
