import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import { ResourceName } from '#crds/parts/object-meta';
import { NEXT_CURSOR } from '../paging.ts';

const Description = z.string().max(4096).describe('Purpose of the group.');

export const WorkloadGroup = z
  .strictObject({
    name: z.string().describe('Its name.'),
    description: Description,
    workloads: z.array(z.string()).describe('Names of its workloads, sorted.'),
    created_at: z.string().optional().describe('RFC 3339, where known.'),
  })
  .meta({ id: 'WorkloadGroup' });
export type WorkloadGroup = z.infer<typeof WorkloadGroup>;

export const GroupList = z.strictObject({
  groups: z.array(WorkloadGroup).describe('Sorted by name.'),
  next_cursor: NEXT_CURSOR,
});

export const NewGroup = z
  .strictObject({ name: ResourceName.describe('Its name.'), description: Description.optional() })
  .meta({ id: 'NewGroup' });
export type NewGroup = z.infer<typeof NewGroup>;

export const ChangedGroup = z
  .strictObject({ description: Description.optional().describe('What the group is for; empty takes it away.') })
  .meta({ id: 'ChangedGroup' });

export const GroupInPath = z.strictObject({ name: text(253).describe('Name of a group.') });
