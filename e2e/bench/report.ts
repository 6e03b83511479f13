import { readFile } from 'node:fs/promises';
import { arch, availableParallelism, platform, totalmem } from 'node:os';
import { renderTargets } from './check-targets.ts';
import type { ListFindings } from './compare-lists.ts';
import type { TokenFindings } from './compare-tokens.ts';
import type { Findings } from './findings.ts';
import type { Comparison, Row } from './side-by-side.ts';

export const GRID = 'Backends and tools, anonymous, 100 B, 32 connections';

const BEGIN = '<!-- written by `make bench`: begin -->';
const END = '<!-- written by `make bench`: end -->';

const PREFACE = `# Benchmarks

\`make bench\` measures and rewrites the part between the marks; what stands outside of them is written by hand.
\`node e2e/bench/run.ts --quick\` takes less than two minutes and prints only.

## How it is measured

- The server under test runs alone on one core (\`taskset\`); load generator and backend share the other one. For
  "direct" the backend is the server under test.
- The backend is a plain \`node:http\` server that answers every call with prepared JSON. The bare proxy is \`node:http\`
  in front of an undici pool, which streams both bodies (\`pool.stream\`) and looks at nothing:
  \`e2e/bench/bare-proxy.ts\`. The same on undici's dispatch handlers costs up to a fifth less at 100 B, the same at 10 kB.
- The gateway renames (\`{workload}_\`), has one session for each connection, and is measured with its defaults apart
  from session limits. "Both boundaries" checks a JWT, decides by ten Cedar policies and sends an exchanged token, all of
  them remembered after the first call. "Audit" writes an event for each call to a file besides. "Own logins" checks a JWT of the
  embedded authorization server and the session behind it, and sends the token that the user's provider gave.
- The token endpoint is measured on one core beside an express app that reads the same form and answers JSON, in turn. Every
  refresh rotates, every code is redeemed once. Redis runs on the other core.
- The lists of 2,000 tools are the first ones of each principal, in a new process with and without the ten policies, in turn.
  Sessions are open and tokens verified before.
- A bridge over HTTP is compared with the bare proxy. A bridge over stdio is compared with a gateway whose program has the
  client's revision.
- All servers run at once and are measured in turn, round after round. A figure is the median of its rounds; a ratio is
  taken within each round, then the median of these.
- CPU is the server's own, from \`/proc\`, over the calls of the round. A payload goes both ways: it is the size of the
  call's argument and of its result.
- The load generator writes prepared bytes on raw sockets and looks at one answer in 512.
`;

const whole = (value: number) => value.toFixed(0);
const times = (value: number | undefined) => (value === undefined ? '' : `${value.toFixed(2)} ×`);

function table(header: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  const rule = header.map((_, index) => (index === 0 ? '---' : '---:'));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}

function renderComparison({ title, rows }: Comparison, what = 'server'): string {
  const header = [what, 'calls/s', '× bare', 'CPU µs/call', '× bare', 'p50 µs', 'p99 µs'];
  const render = (row: Row) => [
    row.name,
    whole(row.rps),
    times(row.rpsRatio),
    row.cpu.toFixed(1),
    times(row.cpuRatio),
    whole(row.p50),
    whole(row.p99),
  ];
  return `### ${title}\n\n${table(header, rows.map(render))}`;
}

function renderTokens({ rows, perSession, perClient }: TokenFindings): string {
  const header = ['grant and storage', 'calls/s', 'bare POST calls/s', '× bare', 'CPU µs/call'];
  const lines = rows.map(({ grant, storage, rps, bareRps, ratio, cpu }) => [
    `${grant}, ${storage}`,
    whole(rps),
    whole(bareRps),
    times(ratio),
    cpu.toFixed(1),
  ]);
  const mebibytes = (bytes: number) => `${((bytes * 10_000) / 2 ** 20).toFixed(1)} MiB`;
  const memory = `Heap, memory storage: ${mebibytes(perSession)} for 10,000 sessions with a linked provider each, ${mebibytes(perClient)} for 10,000 registered clients. Both are bounded (\`docs/operate/storage-schema.md\`).`;
  return `### Token endpoint beside a bare POST on express, 32 connections, ES256\n\n${table(header, lines)}\n\n${memory}`;
}

function renderLists({ tools, rows }: ListFindings): string {
  const header = ['first list of', 'without policies, CPU ms', 'with ten policies, CPU ms', '×'];
  const milliseconds = (micros: number) => (micros / 1_000).toFixed(2);
  const lines = rows.map(({ name, plain, decided, ratio }) => [
    name,
    milliseconds(plain),
    milliseconds(decided),
    times(ratio),
  ]);
  return `### Lists of ${tools} tools under policies\n\n${table(header, lines)}`;
}

function renderOwnShare(servers: Comparison[]): string {
  const rows = servers.flatMap(({ title, rows: all }) => {
    const row = all.find(({ name }) => name === 'bare proxy');
    return row ? [[title, row.loadCpu.toFixed(1), row.backendCpu.toFixed(1), row.cpu.toFixed(1)]] : [];
  });
  const header = ['with the bare proxy', 'load generator µs/call', 'backend µs/call', 'proxy µs/call'];
  return `### Cost of measuring\n\n${table(header, rows)}`;
}

function machine(busy: number): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const cores = availableParallelism();
  const date = new Date().toISOString().slice(0, 10);
  return `Measured on ${date}: virtual machine, ${cores} cores (${arch()}), ${gigabytes} GB, ${platform()}, Node ${process.version}, load average before the run ${busy.toFixed(1)}.`;
}

/** Renders the page with these findings. Text that people wrote into the page at `path` stays. */
export async function renderReport(path: string, findings: Findings): Promise<string> {
  const old = await readFile(path, 'utf8').catch(() => '');
  const after = old.includes(END) ? old.slice(old.indexOf(END) + END.length) : '\n';
  const parts = [
    machine(findings.busy),
    findings.gateway ? `## Targets\n\n${renderTargets(findings, table)}` : '',
    '## Figures',
    ...findings.servers.map((comparison) => renderComparison(comparison)),
    findings.gateway ? renderComparison(findings.gateway.grid, 'backends and tools') : '',
    findings.tokens ? renderTokens(findings.tokens) : '',
    findings.lists ? renderLists(findings.lists) : '',
    renderOwnShare(findings.servers),
  ];
  return `${PREFACE}\n${BEGIN}\n\n${parts.filter((part) => part !== '').join('\n\n')}\n\n${END}${after}`;
}
