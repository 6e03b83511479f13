import { isOn } from '../flag.ts';
import { NoParams, operation } from '../operation.ts';
import { tellCheckedImage } from '../provenance/checked-image.ts';
import { Problem } from '../problem.ts';
import { NewWorkload, WorkloadForced, WorkloadMade } from '../records/workload.ts';
import { DEFAULT } from '../registries/registries.ts';
import type { Services } from '../services.ts';
import { nameOfEntry, workloadOfEntry } from '../registries/workload-of-entry.ts';
import { renderChanged } from '../workloads/render-summary.ts';
import { versionOf } from '../workloads/permission-profiles.ts';
import { checkChange, PORT, RECORD, workload, WRITING } from './workload-changes.ts';

export const createWorkload = operation({
  id: 'createWorkload',
  method: 'POST',
  path: '/workloads',
  summary: 'Make a workload',
  params: NoParams,
  query: WorkloadForced,
  body: NewWorkload,
  success: 201,
  result: WorkloadMade,
  givesTag: true,
  problems: {
    ...RECORD,
    already_exists: 'there is a workload of this name',
    image_refused: 'the image of registry_entry has a signature that does not hold',
    unavailable: 'the registry of registry_entry cannot be read, or too many images are looked at already',
    ...PORT,
    ...WRITING,
  },
  first: () => ({ verb: 'create', resource: 'mcpservers' }),
  permissions: ({ body: { registry_entry: entry, ...body } }) => [
    workload('create', nameFor(body.name, entry)),
    ...(entry === undefined ? [] : [{ verb: 'get', resource: 'registries', name: DEFAULT } as const]),
  ],
  audit: 'management_workload_created',
  async run({ body: { registry_entry: entry, ...sent }, query: { force }, caller, signal }, services) {
    const name = nameFor(sent.name, entry);
    const body = { ...sent, ...(entry !== undefined && (await ofEntry(entry, sent, services))), name };
    const checked =
      entry === undefined || body.url !== undefined
        ? undefined
        : await services.provenance.check(entry, body.image, { caller, signal });
    // A disconnected caller does not receive the result and may have created another workload meanwhile.
    signal.throwIfAborted();
    const change = checkChange({ group: body.group, force: isOn(force) }, caller, services);
    const made = await services.workloads.create({ ...body, checked }, change.check);
    const told = tellCheckedImage(made.resource);
    const about = { ...(told && { image_context: told }), ...change.warningsWith(services.workloads.warningsOf(made)) };
    return { body: { ...renderChanged(made.resource), ...about }, etag: versionOf(made) };
  },
});

/** @throws Problem `bad_request` */
function nameFor(name: string | undefined, entry: string | undefined): string {
  const made = name ?? (entry === undefined ? undefined : nameOfEntry(entry));
  if (made !== undefined) return made;
  throw new Problem(
    'bad_request',
    'body name: required field is missing; write a name of lowercase letters and digits',
  );
}

async function ofEntry(entry: string, sent: Omit<NewWorkload, 'name'>, { registries }: Pick<Services, 'registries'>) {
  const { registry } = await registries.get(DEFAULT);
  return workloadOfEntry(entry, sent, registry.registry);
}
