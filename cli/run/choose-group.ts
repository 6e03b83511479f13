import { createGroup, listGroups } from '#management/operations/groups';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';

/** Group of a folder that `vmcp run` makes. */
export const USUAL_GROUP = 'tools';

/** The group that a new workload joins. */
export interface Group {
  name: string;
  /** It was just made: no endpoint offers it yet. */
  isNew: boolean;
}

/** The one that is named, the only one, the usual one. It is made where it is not there. @throws CliError */
export async function chooseGroup(api: ManagementApi, wanted: string | undefined): Promise<Group> {
  const names = (await api.call(listGroups)).body.groups.map(({ name }) => name);
  const group = wanted ?? (names.length === 1 ? names[0] : USUAL_GROUP) ?? USUAL_GROUP;
  if (names.includes(group)) return { name: group, isNew: false };
  if (wanted === undefined && names.length > 0)
    throw new CliError(EXIT_CODES.usage, `there are several groups: name one with --group (${names.join(', ')})`);
  await api.call(createGroup, { body: { name: group } });
  return { name: group, isNew: true };
}
