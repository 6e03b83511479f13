import { NoParams, NoQuery, operation } from '../operation.ts';
import { tellCheckedImage } from '../provenance/tell-checked-image.ts';
import { NewWorkload, WorkloadMade } from '../records/workload.ts';
import { DEFAULT } from '../registries/registries.ts';
import { renderChanged } from '../workloads/render-summary.ts';
import { versionOf } from '../workloads/workload-version.ts';
import { checkChange, RECORD, workload, WRITING } from './workload-changes.ts';

export const createWorkload = operation({
  id: 'createWorkload',
  method: 'POST',
  path: '/workloads',
  summary: 'Make a workload',
  params: NoParams,
  query: NoQuery,
  body: NewWorkload,
  success: 201,
  result: WorkloadMade,
  givesTag: true,
  problems: {
    ...RECORD,
    already_exists: 'there is a workload of this name',
    image_refused: 'the image of registry_entry has a signature that does not hold',
    unavailable: 'the registry of registry_entry cannot be read, or too many images are looked at already',
    ...WRITING,
  },
  first: () => ({ verb: 'create', resource: 'mcpservers' }),
  touches: ({ body: { name, registry_entry: entry } }) => [
    workload('create', name),
    ...(entry === undefined ? [] : [{ verb: 'get', resource: 'registries', name: DEFAULT } as const]),
  ],
  audit: 'management_workload_created',
  async run({ body: { registry_entry: entry, ...body }, caller, signal }, rooms) {
    const checked =
      entry === undefined ? undefined : await rooms.provenance.check(entry, body.image, { caller, signal });
    // Who is gone cannot be told what came of it, and may have made another one by now.
    signal.throwIfAborted();
    const made = await rooms.workloads.create({ ...body, checked }, checkChange(body.group, caller, rooms));
    const told = tellCheckedImage(made.resource);
    return { body: { ...renderChanged(made.resource), ...(told && { image_context: told }) }, etag: versionOf(made) };
  },
});
