import { tellCheckedImage } from '../provenance/checked-image.ts';
import type { WorkloadSummary } from '../records/workload.ts';
import type { Resources, StoredResource } from '../stores/resources.ts';
import { renderSummary } from './render-summary.ts';
import type { WorkloadRuntime } from './runtime.ts';
import { type WorkloadState, workloadState } from './workload-state.ts';

interface Sources {
  resources: Pick<Resources, 'list'>;
  runtime: Pick<WorkloadRuntime, 'look'>;
}

export async function lookAtWorkloads({
  resources,
  runtime,
}: Sources): Promise<(one: StoredResource) => WorkloadState> {
  const [servers, seenOf] = await Promise.all([resources.list('VirtualMCPServer'), runtime.look()]);
  const backends = Map.groupBy(
    servers.flatMap(({ status }) => status?.backends ?? []),
    ({ name }) => name,
  );
  return (resource) => {
    const { status, context } = workloadState(resource, {
      seen: seenOf(resource),
      backends: backends.get(resource.name) ?? [],
    });
    return { status, context: joined(context, tellCheckedImage(resource)) };
  };
}

export async function summariesOf(found: readonly StoredResource[], sources: Sources): Promise<WorkloadSummary[]> {
  const stateOf = await lookAtWorkloads(sources);
  return found.map((resource) => renderSummary(resource, stateOf(resource)));
}

const joined = (context: string, image: string): string =>
  image === '' || context === '' ? context + image : `${context.replace(/(?<=[^.!?…])$/, '.')} ${image}`;
