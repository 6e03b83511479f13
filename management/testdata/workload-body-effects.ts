import { setTimeout as sleep } from 'node:timers/promises';
import { OperationAccepted, WorkloadOperation } from '../records/workload-operation.ts';
import type { BodyFixture, Effect } from './body-fixture.ts';

type Observe = Effect['observe'];

const groupsThere: Observe = async ({ call }) => {
  const answers = await Promise.all(['one', 'two'].map((name) => call('getGroup', { params: { name } })));
  return answers.map(({ status }) => status);
};

async function makeWorkloads({ call }: BodyFixture): Promise<void> {
  await call('createGroup', { body: { name: 'other' } });
  await call('createWorkload', { body: { name: 'one', url: 'https://a.example/mcp', group: 'tools' } });
  await call('createWorkload', { body: { name: 'two', url: 'https://a.example/mcp', group: 'other' } });
}

/** Returns the workloads that were processed, and those that remain. */
const worked: Observe = async ({ call }, { body }) => {
  const { operation_id: id } = OperationAccepted.parse(body);
  const find = async () => WorkloadOperation.parse((await call('getOperation', { params: { id } })).body);
  let operation = await find();
  while (operation.status === 'running') {
    await sleep(20);
    operation = await find();
  }
  const left = await Promise.all(['one', 'two'].map((name) => call('getWorkload', { params: { name } })));
  return [operation.workloads.map(({ name }) => name), left.map(({ status }) => status)];
};

const byName: Effect = {
  before: makeWorkloads,
  bodies: () => [{ names: ['one'] }, { names: ['two'] }],
  observe: worked,
};
const byGroup: Effect = {
  before: makeWorkloads,
  bodies: () => [{ group: 'tools' }, { group: 'other' }],
  observe: worked,
};

export const WORKLOAD_EFFECTS: Readonly<Record<string, Effect>> = {
  'createWorkload name': {
    bodies: () => [
      { name: 'one', url: 'https://a.example/mcp', group: 'tools' },
      { name: 'two', url: 'https://a.example/mcp', group: 'tools' },
    ],
    observe: async ({ call }) => (await call('getWorkload', { params: { name: 'one' } })).status,
  },
  'createWorkload registry_entry': {
    bodies: () => [
      { name: 'one', registry_entry: 'stripe', group: 'tools' },
      { name: 'one', registry_entry: 'vercel', group: 'tools' },
    ],
    observe: async ({ call }) => (await call('getWorkload', { params: { name: 'one' } })).body,
  },
  'deleteWorkloads names.*': byName,
  'deleteWorkloads group': byGroup,
  'restartWorkloads names.*': byName,
  'restartWorkloads group': byGroup,
  'createGroup name': { bodies: () => [{ name: 'one' }, { name: 'two' }], observe: groupsThere },
};
