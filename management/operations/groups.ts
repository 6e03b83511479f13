import { isOn } from '../flag.ts';
import { z } from 'zod';
import { Nothing, operation, PLAIN, type Permission } from '../operation.ts';
import { pageOf, PAGING } from '../paging.ts';
import { ChangedGroup, GroupInPath, GroupList, NewGroup, WorkloadGroup } from '../records/group.ts';
import { WorkloadForced } from '../records/workload.ts';

/** Required because a group lists its workloads. */
const MEMBERS: Permission = { verb: 'list', resource: 'mcpservers' };
const group = (verb: Permission['verb'], name: string): Permission => ({ verb, resource: 'mcpgroups', name });

const NOT_FOUND = 'there is no group of this name';
const OWNED = 'another manager owns what would change, or its manifest cannot be edited without loss';
const BUSY = 'it is being changed all the time';

export const listGroups = operation({
  ...PLAIN,
  id: 'listGroups',
  method: 'GET',
  path: '/groups',
  summary: 'List the groups of workloads',
  query: z.strictObject(PAGING),
  result: GroupList,
  problems: {},
  permissions: () => [{ verb: 'list', resource: 'mcpgroups' }, MEMBERS],
  async run({ query }, { groups }) {
    const { items, next } = pageOf(await groups.list(), ({ name }) => name, query);
    return { body: { groups: items, next_cursor: next } };
  },
});

export const getGroup = operation({
  ...PLAIN,
  id: 'getGroup',
  method: 'GET',
  path: '/groups/{name}',
  summary: 'Get a group',
  params: GroupInPath,
  result: WorkloadGroup,
  givesTag: true,
  problems: { not_found: NOT_FOUND },
  permissions: ({ params: { name } }) => [group('get', name), MEMBERS],
  async run({ params: { name } }, { groups }) {
    const { group: body, version: etag } = await groups.get(name);
    return { body, etag };
  },
});

export const createGroup = operation({
  ...PLAIN,
  id: 'createGroup',
  method: 'POST',
  path: '/groups',
  summary: 'Make a group',
  body: NewGroup,
  success: 201,
  result: WorkloadGroup,
  givesTag: true,
  problems: { already_exists: 'there is a group of this name', busy: BUSY },
  first: () => MEMBERS,
  permissions: ({ body: { name } }) => [group('create', name), MEMBERS],
  audit: 'management_group_created',
  async run({ body: wanted }, { groups }) {
    const { group: body, version: etag } = await groups.create(wanted);
    return { body, etag };
  },
});

export const editGroup = operation({
  id: 'editGroup',
  method: 'PUT',
  path: '/groups/{name}',
  summary: 'Change the description of a group',
  params: GroupInPath,
  query: WorkloadForced,
  body: ChangedGroup,
  success: 200,
  result: WorkloadGroup,
  givesTag: true,
  takesTag: true,
  problems: { not_found: NOT_FOUND, conflict: OWNED, busy: BUSY },
  first: () => MEMBERS,
  permissions: ({ params: { name } }) => [group('update', name), MEMBERS],
  audit: 'management_group_edited',
  async run({ params: { name }, query: { force }, body: { description }, ifMatch }, { groups }) {
    const edited = await groups.edit(name, description, { expected: ifMatch, force: isOn(force) });
    return { body: edited.group, etag: edited.version };
  },
});

export const deleteGroup = operation({
  ...PLAIN,
  id: 'deleteGroup',
  method: 'DELETE',
  path: '/groups/{name}',
  summary: 'Delete a group that nothing uses',
  params: GroupInPath,
  success: 204,
  result: Nothing,
  takesTag: true,
  problems: {
    not_found: NOT_FOUND,
    in_use: 'workloads or VirtualMCPServers refer to it',
    busy: BUSY,
  },
  permissions: ({ params: { name } }) => [
    group('delete', name),
    MEMBERS,
    { verb: 'list', resource: 'virtualmcpservers' },
  ],
  audit: 'management_group_deleted',
  async run({ params: { name }, ifMatch }, { groups }) {
    await groups.delete(name, ifMatch);
    return { body: undefined };
  },
});

export const groupOperations = [listGroups, getGroup, createGroup, editGroup, deleteGroup];
