import type { Operation } from '../operation.ts';
import { aboutOperations } from './about.ts';
import { clientOperations } from './clients.ts';
import { groupOperations } from './groups.ts';
import { operationOperations } from './operations.ts';
import { registryOperations } from './registries.ts';
import { secretOperations } from './secrets.ts';
import { skillOperations } from './skills.ts';
import { workloadOperations } from './workloads.ts';

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
