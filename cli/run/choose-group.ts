import { createGroup, listGroups } from '#management/operations/groups';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';

/** `vmcp run` gives this group to a folder that it creates. */
export const USUAL_GROUP = 'tools';

export interface Group {
  name: string;
  /** No endpoint offers it yet. */
  isNew: boolean;
}

/** Returns the named, the only or the default group; creates a missing one. @throws CliError */
export async function chooseGroup(api: ManagementApi, wanted: string | undefined): Promise<Group> {
  const names = (await api.call(listGroups)).body.groups.map(({ name }) => name);
  const group = wanted ?? (names.length === 1 ? names[0] : USUAL_GROUP) ?? USUAL_GROUP;
  if (names.includes(group)) return { name: group, isNew: false };
  if (wanted === undefined && names.length > 0)
    throw new CliError(EXIT_CODES.usage, `there are several groups: name one with --group (${names.join(', ')})`);
  await api.call(createGroup, { body: { name: group } });
  return { name: group, isNew: true };
}
