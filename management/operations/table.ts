import { type Operation, operation, PLAIN } from '../operation.ts';
import { OperationInPath, WorkloadOperation } from '../records/workload-operation.ts';
import { aboutOperations } from './about.ts';
import { clientOperations } from './clients.ts';
import { groupOperations } from './groups.ts';
import { registryOperations } from './registries.ts';
import { secretOperations } from './secrets.ts';
import { skillOperations } from './skills.ts';
import { workloadOperations } from './workloads.ts';

const getOperation = operation({
  ...PLAIN,
  id: 'getOperation',
  method: 'GET',
  path: '/operations/{id}',
  summary: 'Tell how far work in the background is, and how it ended',
  params: OperationInPath,
  result: WorkloadOperation,
  problems: {
    not_found: 'there is no such work, or it ended more than a day ago',
    store_damaged: 'what is stored of it is damaged',
  },
  permissions: () => [{ verb: 'list', resource: 'mcpservers' }],
  run: async ({ params: { id } }, { operations }) => ({ body: await operations.get(id) }),
});

export const operationOperations = [getOperation];

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
