import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import { PROBLEMS, type ProblemCode } from '../problem.ts';

const MOST_SELECTED = 1000;

const ONE_OF = 'write either names or group';

export const WorkloadSelection = z
  .strictObject({
    names: z
      .array(text(253))
      .min(1)
      .max(MOST_SELECTED)
      .optional()
      .describe('Their names; those that are not there are told in `unknown`.'),
    group: text(253).optional().describe('Those of this group.'),
  })
  .refine(({ names, group }) => (names === undefined) !== (group === undefined), { error: ONE_OF })
  .meta({ id: 'WorkloadSelection', oneOf: [{ required: ['names'] }, { required: ['group'] }] });
export type WorkloadSelection = z.infer<typeof WorkloadSelection>;

export const OperationAccepted = z
  .strictObject({
    operation_id: z.string().describe('GET /operations/{id} tells how it ends.'),
    accepted: z.array(z.string()).describe('Workloads that it is about.'),
    unknown: z.array(z.string()).describe('Names of which there is no workload.'),
  })
  .meta({ id: 'OperationAccepted' });
export type OperationAccepted = z.infer<typeof OperationAccepted>;

const CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** Kept for 24 hours after its end. */
export const WorkloadOperation = z
  .strictObject({
    id: z.string().describe('Its id.'),
    type: z.enum(['delete', 'restart']).describe('What is done.'),
    status: z.enum(['running', 'succeeded', 'failed']).describe('`failed`: not all could be done.'),
    created_at: z.string().describe('RFC 3339.'),
    finished_at: z.string().optional().describe('When it ended, RFC 3339.'),
    workloads: z
      .array(
        z.strictObject({
          name: z.string().describe('Name of a workload.'),
          status: z.enum(['pending', 'done', 'failed']).describe('How far it is with this one.'),
          code: z.enum(CODES).optional().describe('Why it failed: the code of the problem.'),
          detail: z.string().optional().describe('Why it failed, and what to do.'),
        }),
      )
      .describe('In the order in which they are worked on.'),
  })
  .meta({ id: 'WorkloadOperation' });
export type WorkloadOperation = z.infer<typeof WorkloadOperation>;

export const OperationInPath = z.strictObject({
  id: z
    .string()
    .max(253)
    .regex(/^[-0-9A-Za-z]+$/, 'not the id of an operation; write operation_id as it was given')
    .describe('`operation_id` of what was accepted.'),
});
