import type { Operation } from '../operation.ts';
import { aboutOperations } from './about.ts';
import { clientOperations } from './clients.ts';
import { groupOperations } from './groups.ts';
import { operationOperations } from './operations.ts';
import { registryOperations } from './registries.ts';
import { secretOperations } from './secrets.ts';
import { skillOperations } from './skills.ts';
import { workloadOperations } from './workloads.ts';

/** All operations of the management API, in the order of the reference. */
export const OPERATIONS: readonly Operation[] = [
  ...clientOperations,
  ...registryOperations,
  ...secretOperations,
  ...skillOperations,
  ...workloadOperations,
  ...groupOperations,
  ...operationOperations,
  ...aboutOperations,
];
