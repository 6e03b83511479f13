import type { BridgeRow } from './compare-bridges.ts';
import type { Findings } from './findings.ts';
import type { BridgedSessionCost } from './measure-bridged-sessions.ts';
import type { IdleMemory, Slope } from './measure-memory.ts';
import { BARE, median, type Comparison, type Row } from './side-by-side.ts';

interface Figure {
  what: string;
  target: string;
  measured: string;
  met: boolean;
}

const ANONYMOUS = 'vmcp anonymous';
const BOTH = 'vmcp both boundaries';
const AUDITED = 'vmcp both boundaries, audit';
const OWN_LOGINS = 'vmcp own logins';
const MIB = 2 ** 20;
const NO_SLOPE = MIB;
const SLOPE_SECONDS = 120;

const find = (comparisons: Comparison[], title: string, name: string): Row | undefined =>
  comparisons.find((comparison) => comparison.title === title)?.rows.find((row) => row.name === name);

/** Returns a figure that must reach its target. */
function atLeast(what: string, value: number, limit: number): Figure {
  return { what, target: `≥ ${limit} ×`, measured: `${value.toFixed(2)} ×`, met: value >= limit };
}

/** Returns a figure that must not exceed its target. */
function atMost(what: string, value: number, limit: number, unit: string, digits = 2): Figure {
  return { what, target: `≤ ${limit} ${unit}`, measured: `${value.toFixed(digits)} ${unit}`, met: value <= limit };
}

function callFigures(servers: Comparison[]): Figure[] {
  const many = '100 B, 32 connections';
  const one = '100 B, 1 connection';
  const row = (title: string, name: string) => find(servers, title, name);
  const cpu = (name: string, title = many) => row(title, name)?.cpuRatio ?? Number.NaN;
  const rps = row(many, ANONYMOUS)?.rpsRatio ?? Number.NaN;
  const behind = (row(one, ANONYMOUS)?.p50 ?? Number.NaN) - (row(one, 'bare proxy')?.p50 ?? Number.NaN);
  const tail = (row(many, ANONYMOUS)?.p99 ?? Number.NaN) / (row(many, 'direct')?.p99 ?? Number.NaN);
  return [
    atLeast('anonymous, calls a second over the bare proxy', rps, 0.9),
    atMost('anonymous, CPU a call over the bare proxy', cpu(ANONYMOUS), 1.1, '×'),
    atMost('both boundaries, CPU a call over the bare proxy', cpu(BOTH), 1.25, '×'),
    atMost('both boundaries and audit log, CPU a call over the bare proxy', cpu(AUDITED), 1.45, '×'),
    atMost('own logins, CPU a call over the bare proxy', cpu(OWN_LOGINS), 1.35, '×'),
    atMost('anonymous, p50 at 1 connection above the bare proxy', behind, 60, 'µs', 0),
    atMost('anonymous, p99 at 32 connections over direct', tail, 3.5, '×'),
    atMost('anonymous, 10 kB, CPU a call over the bare proxy', cpu(ANONYMOUS, '10 kB, 32 connections'), 1.2, '×'),
  ];
}

/** In a short run V8 is still sizing the heap, so there is no verdict. */
function growth({ warmUp, seconds, bytesPerMinute }: Slope): Figure {
  const what = `growth of resident memory over ${seconds} s of load, after ${warmUp} s of it`;
  const figure = atMost(what, bytesPerMinute / MIB, NO_SLOPE / MIB, 'MiB a minute');
  return seconds < SLOPE_SECONDS ? { ...figure, target: '' } : figure;
}

/** An idle gateway returns memory to the system after two minutes. */
function idleFigures(idle: IdleMemory | undefined): Figure[] {
  if (!idle) return [];
  const what = `resident memory ${idle.idle} s after ${idle.load} s of load, over that before`;
  return [atMost(what, idle.idleBytes / idle.beforeBytes, 1.6, '×')];
}

function bridgedSessionFigure({ title, sessions, heap, limit }: BridgedSessionCost): Figure {
  const what = `heap of each of ${sessions} idle bridged sessions, ${title}`;
  const figure = atMost(what, heap / 1024, limit ?? Infinity, 'KiB');
  return limit === undefined ? { ...figure, target: '' } : figure;
}

function gatewayFigures({
  grid,
  starts,
  sessions,
  bridgedSessions,
  slope,
  idle,
}: NonNullable<Findings['gateway']>): Figure[] {
  const costs = grid.rows.filter(({ name }) => name !== BARE).map(({ cpuRatio }) => cpuRatio ?? Number.NaN);
  const spread = Math.max(...costs) / (costs[0] ?? Number.NaN);
  return [
    atMost('CPU a call, worst of all backends and tools over 1 backend with 10 tools', spread, 1.15, '×'),
    atMost('heap of an idle session', sessions.heap / 1024, 2, 'KiB'),
    ...bridgedSessions.map(bridgedSessionFigure),
    growth(slope),
    ...idleFigures(idle),
    atMost('resident memory at start', median(starts.resident) / MIB, 100, 'MB', 0),
    atMost('start to ready', median(starts.readyMs) / 1_000, 0.5, 's'),
    {
      what: `resident memory for each of ${sessions.sessions} idle sessions`,
      target: '',
      measured: `${(sessions.resident / 1024).toFixed(2)} KiB`,
      met: true,
    },
  ];
}

const TOKEN_TARGETS = { 'refresh_token memory': 0.4, 'refresh_token redis': 0.33 } as const;
const CODE_TARGET = 0.25;

function tokenFigures({ rows }: NonNullable<Findings['tokens']>): Figure[] {
  return rows.map(({ grant, storage, ratio }) => {
    const limit = grant === 'refresh_token' ? TOKEN_TARGETS[`${grant} ${storage}`] : CODE_TARGET;
    return atLeast(`${grant} with ${storage}, calls a second over a bare POST on express`, ratio, limit);
  });
}

function listFigures({ tools, rows }: NonNullable<Findings['lists']>): Figure[] {
  return rows.map(({ name, ratio }) =>
    atMost(`first list of ${tools} tools, ${name}, CPU with ten policies over none`, ratio, 2, '×'),
  );
}

function bridgeFigures(rows: readonly BridgeRow[]): Figure[] {
  return rows.map(({ title, base, cpuRatio, limit }) =>
    atMost(`${title}, CPU a call over ${base}`, cpuRatio, limit, '×'),
  );
}

const figuresOf = ({ servers, tokens, lists, bridges, gateway }: Findings): Figure[] => [
  ...callFigures(servers),
  ...(tokens ? tokenFigures(tokens) : []),
  ...(lists ? listFigures(lists) : []),
  ...(bridges ? bridgeFigures(bridges) : []),
  ...(gateway ? gatewayFigures(gateway) : []),
];

/** Returns a line for each missed target; none for a run without the gateway. */
export function missedTargets(findings: Findings): string[] {
  if (!findings.gateway) return [];
  const missed = figuresOf(findings).filter(({ target, met }) => target !== '' && !met);
  return missed.map(({ what, target, measured }) => `missed: ${what}: ${measured}, and the target is ${target}`);
}

/** Renders the table of targets and measured values. */
export function renderTargets(findings: Findings, table: (header: string[], rows: string[][]) => string): string {
  const verdict = ({ target, met }: Figure) => (target === '' ? '' : met ? 'met' : '**missed**');
  const rows = figuresOf(findings).map((figure) => [figure.what, figure.target, figure.measured, verdict(figure)]);
  return table(['figure', 'target', 'measured', ''], rows);
}
