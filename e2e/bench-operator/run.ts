import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { readQuantity } from '#crds/parts/quantity';
import { KubeApi } from '#operator/kubernetes/api/api';
import { connect, loadKubeConfig } from '#operator/kubernetes/api/connection';
import { cpuMicros } from '../bench/cpu-time.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { fill, measureEdits, rotateShared, writePlainly } from './measure.ts';
import { countWrites, MeasuredOperator, PROGRAM } from './measured-operator.ts';
import { type Findings, missedTargets, renderReport } from './report.ts';

const PAGE = join(import.meta.dirname, '../../docs/internals/benchmarks-operator.md');
const CRDS = 'crds/manifests';
const DOCKERFILE = readFileSync(join(import.meta.dirname, '../../operator/Dockerfile'), 'utf8');
/** Flags of Node and variables of glibc, as in the image. */
const IMAGE_FLAGS = [...(/^ENTRYPOINT (.*)$/m.exec(DOCKERFILE)?.[1] ?? '').matchAll(/"(--[^"]+)"/g)].map(
  ([, flag = '']) => flag,
);
const PERCENTAGE = '--max-old-space-size-percentage=';
const CHART_VALUES = readFileSync(join(import.meta.dirname, '../../charts/vmcp/values.yaml'), 'utf8');
const ChartValues = z.object({ resources: z.object({ limits: z.object({ memory: z.string() }) }) });
/** Memory limit of the operator's pod. MiB. */
const POD_LIMIT = (readQuantity(ChartValues.parse(parse(CHART_VALUES)).resources.limits.memory) ?? 0) / 2 ** 20;
/** The share of the heap is of the pod's memory here, too, and not of the machine's. */
const NODE_FLAGS = IMAGE_FLAGS.map((flag) =>
  flag.startsWith(PERCENTAGE)
    ? `--max-old-space-size=${Math.floor((POD_LIMIT * Number(flag.slice(PERCENTAGE.length))) / 100)}`
    : flag,
);
const MALLOC = Object.fromEntries(
  [...DOCKERFILE.matchAll(/^ENV (MALLOC_\w+)=(\d+)$/gm)].map(([, name, value]) => [name, value]),
);
const IDLE_MS = 20_000;
/** The operator checks every 20 s whether it was idle for 20 s, and then collects garbage. */
const REST_MS = 30_000;

const PREFACE = `# Benchmarks of the operator

\`make bench-operator\` measures and rewrites this page; \`node e2e/bench-operator/run.ts --groups 10 --print\` takes a minute.

## How it is measured

- A separate etcd and API server run without controllers, nodes and pods. So a Deployment is complete when it is written, and no runtime answers.
  They share the machine with the operator and the editing script.
- Half of all resources are in one namespace, the rest in ten. A group has 25 MCPServers (\`remoteUrl\`) and 5 VirtualMCPServers, so a run
  configuration has 25 backends. All servers of the large namespace share one Secret.
- Cold start: the time from the start of the process, among new resources, to its last write. It writes children, statuses, and an Event for each
  transition.
- The plain script writes the same children and statuses by server-side apply into other namespaces, four at once. It knows all of them in advance
  and makes no Events.
- Edit: a header is added to a VirtualMCPServer. The time ends when a watch shows its new ConfigMap. Edits run one after the other.
- At rest: 50 s after a start without pending changes, and without edits since.
- The operator has its default of four workers and the heap limit of its pod. Options of Node and variables of glibc are those of its image.
  CPU is from \`/proc\`.`;

const { values } = parseArgs({
  options: {
    groups: { type: 'string', multiple: true, default: ['1', '20', '200'] },
    edits: { type: 'string', default: '100' },
    program: { type: 'string', default: PROGRAM },
    node: { type: 'string', multiple: true, default: [] },
    print: { type: 'boolean', default: false },
  },
});
const how = { program: values.program, node: [...NODE_FLAGS, ...values.node], env: { ...process.env, ...MALLOC } };
const startedAt = Date.now();
const tell = (line: string, found: unknown = '') => {
  console.log(`[${((Date.now() - startedAt) / 1000).toFixed(0).padStart(4)}s] ${line}`, JSON.stringify(found));
};

async function measureCold(plane: ControlPlane): Promise<{ operator: MeasuredOperator; cold: Findings['cold'] }> {
  const before = cpuMicros(plane.apiServer);
  const operator = new MeasuredOperator(plane.kubeconfig, how);
  const settled = (await operator.settled(operator.startedAt)) / 1000;
  const apiServerCpu = (cpuMicros(plane.apiServer) - before) / 1e6;
  const found = { seconds: settled, cpu: operator.cpuSeconds(), apiServerCpu, memory: operator.memory() };
  return { operator, cold: { ...found, requests: await operator.requests() } };
}

async function measureIdle(operator: MeasuredOperator): Promise<Findings['idle']> {
  const before = operator.cpuSeconds();
  await sleep(IDLE_MS);
  const cpu = ((operator.cpuSeconds() - before) * 60_000) / IDLE_MS;
  await sleep(REST_MS);
  return { cpu, memory: operator.memory() };
}

/** Starts an operator when all objects are already up to date. */
async function measureWarm(plane: ControlPlane): Promise<{ operator: MeasuredOperator; warm: Findings['warm'] }> {
  const operator = new MeasuredOperator(plane.kubeconfig, how);
  const settled = (await operator.settled(operator.startedAt, 0)) / 1000;
  const writes = countWrites(await operator.requests());
  return { operator, warm: { seconds: settled, cpu: operator.cpuSeconds(), writes, memory: operator.memory() } };
}

async function measure(groups: number): Promise<Findings> {
  const busy = loadavg()[0] ?? 0;
  const plane = await startControlPlane(tell);
  try {
    await plane.kubectl(['apply', '--server-side', '-f', CRDS]);
    await plane.kubectl(['wait', '--for=condition=Established', '--timeout=30s', '-f', CRDS]);
    // Until then the API server refuses lists of the new kinds with 429.
    await sleep(2000);
    const api = new KubeApi(connect(loadKubeConfig({ kubeconfig: plane.kubeconfig })));
    const created = await fill(api, groups);
    tell('created', created);
    const { operator: first, cold } = await measureCold(plane);
    tell('cold start', cold);
    await first.program.stop();
    const { operator, warm } = await measureWarm(plane);
    tell('start where all stands', warm);
    const idle = await measureIdle(operator);
    tell('idle', idle);
    const count = Number(values.edits);
    const edits = { count, ...(await measureEdits(api, operator, groups, count)) };
    tell('edits', edits);
    const rotation = { servers: Math.ceil(groups / 2) * 5, ...(await rotateShared(api, operator)) };
    tell('rotation', rotation);
    await operator.program.stop();
    const plain = await writePlainly(api, groups, plane);
    tell('plain script', plain);
    await api.close();
    const sizes = { servers: groups * 5, backends: groups * 25, groups, busy };
    return { ...sizes, created, cold, warm, idle, edits, rotation, plain };
  } finally {
    await plane.close();
  }
}

// All child processes end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const found: Findings[] = [];
for (const groups of values.groups) found.push(await measure(Number(groups)));
const page = renderReport(found, PREFACE);
if (values.print) console.log(page);
else writeFileSync(PAGE, page);
const missed = missedTargets(found);
for (const one of missed) console.error(one);
process.exitCode = missed.length === 0 ? 0 : 1;
