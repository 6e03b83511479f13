import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveTasks, type TasksServer } from '../fakes/tasks-server/serve-tasks.ts';
import { TASK_TOOLS } from '../fakes/tasks-server/task-tools.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { runScenario } from './run-suite.ts';

/** The scenarios of `io.modelcontextprotocol/tasks`. `tasks-status-notifications` has no checks yet. */
const SCENARIOS = [
  ...['tasks-lifecycle', 'tasks-capability-negotiation', 'tasks-wire-fields', 'tasks-request-state-removal'],
  ...['tasks-mrtr-input', 'tasks-request-headers', 'tasks-dispatch-and-envelope', 'tasks-status-notifications'],
  ...['tasks-required-task-error', 'tasks-mrtr-composition'],
];
const CHECKS = 44;

const own = (name: string) => `own_${name}`;
const TOOLS = ['greet', ...TASK_TOOLS.map(({ name }) => name)];
const RENAMED = Object.fromEntries(TOOLS.map((name) => [own(name), { name }]));

interface Arrangement {
  servers: () => Promise<TasksServer[]>;
  /** Absent: without the gateway. */
  aggregation?: RunConfigDocument['aggregation'];
}

const ARRANGEMENTS: Readonly<Record<string, Arrangement>> = {
  'tasks, direct': { servers: async () => [await serveTasks()] },
  'tasks, one backend': {
    servers: async () => [await serveTasks()],
    aggregation: { conflict_resolution: 'prefix', prefix_format: '' },
  },
  'tasks, two backends, every name collides': {
    servers: async () => [await serveTasks(), await serveTasks({ refusesCalls: true })],
    aggregation: { conflict_resolution: 'priority', priority_order: ['first', 'second'] },
  },
  // The suite calls fixed names, so they are the names after a prefix on one backend and an override on the other.
  'tasks, two backends, prefixed and renamed': {
    servers: async () => [await serveTasks({ refusesCalls: true }), await serveTasks({ nameOf: own })],
    aggregation: {
      conflict_resolution: 'manual',
      tools: [
        { workload: 'first', overrides: Object.fromEntries(TOOLS.map((name) => [name, { name: `first_${name}` }])) },
        { workload: 'second', overrides: RENAMED },
      ],
    },
  },
};

/** Runs all scenarios in each arrangement. Returns whether all checks passed. */
export async function runTasks(wanted: (name: string) => boolean): Promise<boolean> {
  let isGood = true;
  for (const [name, arrangement] of Object.entries(ARRANGEMENTS)) {
    if (wanted(name)) isGood = (await runArrangement(name, arrangement)) && isGood;
  }
  return isGood;
}

async function runArrangement(name: string, { servers: serve, aggregation }: Arrangement): Promise<boolean> {
  const servers = await serve();
  const backends = servers.map(({ url }, index) => ({
    name: index === 0 ? 'first' : 'second',
    transport: 'streamable-http' as const,
    url,
  }));
  const gateway = aggregation && (await startGateway({ incoming: { type: 'anonymous' }, backends, aggregation }));
  console.log(`\n${name}`);
  try {
    let passed = 0;
    for (const scenario of SCENARIOS) {
      const checks = await runScenario({ url: gateway?.url ?? servers[0]?.url ?? '' }, scenario);
      for (const { id, status, errorMessage } of checks) {
        if (status === 'SUCCESS') passed += 1;
        else console.log(`  ${scenario} ${id}: ${errorMessage ?? status}`);
      }
    }
    console.log(`  ${passed} of ${CHECKS} checks passed`);
    return passed === CHECKS;
  } finally {
    await gateway?.stop();
    await Promise.all(servers.map((server) => server.close()));
  }
}
