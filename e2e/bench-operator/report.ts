import { arch, availableParallelism, cpus, platform, totalmem } from 'node:os';
import type { Requests } from './measured-operator.ts';
import { countWrites } from './measured-operator.ts';

interface Usage {
  now: number;
  peak: number;
}

/** Findings of one run at one size. Times are seconds unless their name says otherwise, memory is bytes. */
export interface Findings {
  servers: number;
  backends: number;
  groups: number;
  /** Load average of the machine before the run. */
  busy: number;
  created: { count: number; seconds: number };
  cold: { seconds: number; cpu: number; apiServerCpu: number; memory: Usage; requests: Requests };
  warm: { seconds: number; cpu: number; writes: number; memory: Usage };
  idle: { cpu: number; memory: Usage };
  edits: { count: number; p50: number; p99: number; requests: Requests };
  rotation: { servers: number; seconds: number; cpu: number; writes: number };
  plain: { writes: number; seconds: number; cpu: number; apiServerCpu: number };
}

const TARGET_EDIT_MS = 150;
/** In the operator's pod, whose heap has a limit. Bytes. */
export const TARGET_MEMORY = 300e6;
const MIB = 2 ** 20;
const TARGET_AT_REST = 100 * MIB;

const seconds = (value: number) => `${value.toFixed(1)} s`;
const milliseconds = (value: number) => `${value.toFixed(0)} ms`;
const mebibytes = (value: number) => `${(value / MIB).toFixed(0)} MiB`;
const megabytes = (value: number) => `${(value / 1e6).toFixed(0)} MB`;

function rows({ cold, warm, idle, edits, rotation, plain, created }: Findings): [string, string][] {
  const writes = countWrites(cold.requests);
  const perEdit = Object.values(edits.requests).reduce((sum, value) => sum + value, 0);
  return [
    ['creating the resources, 16 at once', `${seconds(created.seconds)} for ${created.count}`],
    ['cold start to converged, everything new', `${seconds(cold.seconds)}, ${writes} writes`],
    ['the plain script, children and statuses only', `${seconds(plain.seconds)}, ${plain.writes} writes`],
    [
      'time for each write, over the plain script',
      `${(cold.seconds / writes / (plain.seconds / plain.writes)).toFixed(2)} ×`,
    ],
    ['CPU of the operator, cold start', `${seconds(cold.cpu)} (plain script ${seconds(plain.cpu)})`],
    [
      'CPU of the API server, cold start',
      `${seconds(cold.apiServerCpu)} (plain script ${seconds(plain.apiServerCpu)})`,
    ],
    ['start where all stands already', `${seconds(warm.seconds)}, ${warm.writes} writes, ${seconds(warm.cpu)} of CPU`],
    ['resident memory after the cold start, peak', `${megabytes(cold.memory.now)}, ${megabytes(cold.memory.peak)}`],
    ['resident memory after the other start, peak', `${megabytes(warm.memory.now)}, ${megabytes(warm.memory.peak)}`],
    ['resident memory at rest', `${megabytes(idle.memory.now)}, ${mebibytes(idle.memory.now)}`],
    ['CPU while nothing happens, a minute', seconds(idle.cpu)],
    ['edit to applied child, p50 and p99', `${milliseconds(edits.p50)}, ${milliseconds(edits.p99)} of ${edits.count}`],
    ['requests of the operator for one edit', perEdit.toFixed(2)],
    [
      `one Secret of ${rotation.servers} servers changed, until all have it`,
      `${seconds(rotation.seconds)}, ${rotation.writes} writes, ${seconds(rotation.cpu)} of CPU`,
    ],
  ];
}

interface Figure {
  what: string;
  target: string;
  measured: string;
  met: boolean;
}

/** Takes memory at rest from the smallest size, where the operator has few resources, and the rest from the largest. */
function targets(sizes: readonly Findings[]): Figure[] {
  const [smallest, largest] = [sizes[0], sizes.at(-1)];
  return smallest && largest ? [...targetsOfLargest(largest), targetAtRest(smallest)] : [];
}

function targetAtRest({ idle, servers, backends }: Findings): Figure {
  return {
    what: `resident memory at rest, ${servers} servers and ${backends} backends`,
    target: `< ${mebibytes(TARGET_AT_REST)}`,
    measured: mebibytes(idle.memory.now),
    met: idle.memory.now < TARGET_AT_REST,
  };
}

function targetsOfLargest({ edits, cold, warm }: Findings): Figure[] {
  const peak = Math.max(cold.memory.peak, warm.memory.peak);
  return [
    {
      what: 'edit to applied child, p50',
      target: `< ${milliseconds(TARGET_EDIT_MS)}`,
      measured: milliseconds(edits.p50),
      met: edits.p50 < TARGET_EDIT_MS,
    },
    {
      what: 'resident memory, peak',
      target: `< ${megabytes(TARGET_MEMORY)}`,
      measured: megabytes(peak),
      met: peak < TARGET_MEMORY,
    },
    {
      what: 'writes of a start where all stands already',
      target: '0',
      measured: String(warm.writes),
      met: warm.writes === 0,
    },
  ];
}

/** Returns a line for each missed target. */
export function missedTargets(sizes: readonly Findings[]): string[] {
  const missed = targets(sizes).filter(({ met }) => !met);
  return missed.map(({ what, target, measured }) => `missed: ${what}: ${measured}, and the target is ${target}`);
}

const title = ({ servers, backends, groups }: Findings) => `${servers} servers, ${backends} backends, ${groups} groups`;

/** Renders the page of the figures, from the smallest size to the largest. */
export function renderReport(sizes: Findings[], preface: string): string {
  const largest = sizes.at(-1);
  if (!largest) return preface;
  const header = ['Figure', ...sizes.map(title)];
  const columns = sizes.map(rows);
  const table = (columns[0] ?? []).map(([name], index) => [name, ...columns.map((column) => column[index]?.[1] ?? '')]);
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? arch()}), ${Math.round(totalmem() / 1e9)} GB, ${platform()}, Node ${process.version}`;
  return (
    [
      preface,
      `Measured on ${new Date().toISOString().slice(0, 10)}: ${machine}, load average before the run ${largest.busy.toFixed(1)}.`,
      `## Targets\n\n| figure | target | measured |  |\n| --- | ---: | ---: | ---: |\n${targets(sizes)
        .map(({ what, target, measured, met }) => line([what, target, measured, met ? 'met' : '**missed**']))
        .join('\n')}`,
      `## Figures\n\n${[line(header), line(header.map((_, index) => (index === 0 ? '---' : '---:'))), ...table.map(line)].join('\n')}`,
      `## Requests for one edit\n\n${Object.entries(largest.edits.requests)
        .map(([name, value]) => `- \`${name}\`: ${value.toFixed(2)}`)
        .join('\n')}`,
    ].join('\n\n') + '\n'
  );
}
