import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { AuditLine } from '#crds/parts/audit-line';
import { locateState } from '#local/state-folder';
import { contextWith } from '../testdata/context-with.ts';
import { audit, type AuditOptions } from './audit.ts';

const HOUR = 3_600_000;
const NOW = Date.now();

let folder: string;
let out: string;
let err: string;
let stop: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-audit-'));
  mkdirSync(join(folder, 'logs'));
  [out, err, stop] = ['', '', new AbortController()];
});
afterEach(() => rmSync(folder, { recursive: true }));

const log = (name: string) => join(folder, 'logs', name);

interface Said {
  /** Milliseconds before now. */
  ago?: number;
  user?: string;
  tool?: string;
  outcome?: AuditLine['outcome'];
  ms?: number;
}

function lineOf({ ago = 0, user = 'alice', tool = 'a_echo', outcome = 'success', ms = 10 }: Said): string {
  const line: AuditLine = {
    audit_id: `${tool}-${ago}`,
    type: 'mcp_tool_call',
    logged_at: new Date(NOW - ago).toISOString(),
    outcome,
    component: 'team',
    subjects: { user },
    target: { endpoint: '/mcp', method: 'tools/call', type: 'tool', name: tool, backend: tool.split('_')[0] },
    metadata: { duration_ms: ms },
    ...(outcome === 'denied' && { data: { code: 'unknown_name', policies: [{ id: 'readers-only' }] } }),
  };
  return `${JSON.stringify(line)}\n`;
}

function run(options: Partial<AuditOptions> = {}): Promise<number> {
  const given: AuditOptions = { since: 24 * HOUR, follow: false, summary: false, output: 'json', ...options };
  const context = contextWith({
    state: locateState(folder),
    out: { write: (text: string) => (out += text) },
    err: { write: (text: string) => (err += text) },
  });
  return audit(given, context, stop.signal);
}

const printed = () =>
  out
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as AuditLine).target.name);

async function shows(names: string[]): Promise<void> {
  for (let i = 0; i < 6_000 && printed().length < names.length; i++) await new Promise((go) => setTimeout(go, 10));
  expect(printed()).toEqual(names);
}

describe('vmcp audit', () => {
  it('prints the audit lines of all logs in order of time, and skips other and damaged lines', async () => {
    writeFileSync(
      log('one.log'),
      `${lineOf({ ago: 4, tool: 'a_1' })}{"level":"info"}\n${lineOf({ ago: 2, tool: 'a_3' })}`,
    );
    writeFileSync(
      log('two.log'),
      `{"audit_id":"half\n${lineOf({ ago: 3, tool: 'a_2' })}${lineOf({ ago: 1, tool: 'a_4' })}`,
    );
    expect(await run()).toBe(0);
    expect(printed()).toEqual(['a_1', 'a_2', 'a_3', 'a_4']);
  });

  it('reads rotated and compressed files, but none that is older than --since', async () => {
    writeFileSync(log('one.log.2.gz'), gzipSync(lineOf({ ago: 3 * HOUR, tool: 'a_1' })));
    writeFileSync(log('one.log.1'), lineOf({ ago: 2 * HOUR, tool: 'a_2' }));
    writeFileSync(log('one.log'), lineOf({ ago: HOUR, tool: 'a_3' }));
    writeFileSync(log('one.log.3.gz'), 'not compressed');
    for (const [name, hours] of [
      ['one.log.3.gz', 30],
      ['one.log.2.gz', 3],
      ['one.log.1', 2],
    ] as const)
      utimesSync(log(name), (NOW - hours * HOUR) / 1000, (NOW - hours * HOUR) / 1000);
    await run();
    expect(printed()).toEqual(['a_1', 'a_2', 'a_3']);
    out = '';
    await run({ since: 2.5 * HOUR });
    expect(printed()).toEqual(['a_2', 'a_3']);
  });

  it('reads the file that an audit configuration names', async () => {
    const file = join(folder, 'elsewhere.jsonl');
    const at = join(folder, 'run', 'default', 'vmcp-team', 'config');
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, 'run-config.yaml'), `audit_config:\n  enabled: true\n  logFile: ${file}\n`);
    writeFileSync(file, lineOf({ tool: 'a_1' }));
    await run();
    expect(printed()).toEqual(['a_1']);
  });

  it.each([
    [{ user: 'bob' }, ['b_2']],
    [{ tool: 'a_1' }, ['a_1']],
    [{ backend: 'b' }, ['b_2']],
    [{ outcome: 'denied' as const }, ['a_3']],
    [{ since: 5 }, ['a_3']],
  ])('selects by %j', async (options, names) => {
    const lines = [
      { ago: HOUR, tool: 'a_1' },
      { ago: HOUR, tool: 'b_2', user: 'bob' },
    ];
    writeFileSync(log('one.log'), lines.map(lineOf).join('') + lineOf({ ago: -HOUR, tool: 'a_3', outcome: 'denied' }));
    await run(options);
    expect(printed()).toEqual(names);
  });

  it('prints a table with the policy that decided, and escapes control characters', async () => {
    writeFileSync(log('one.log'), lineOf({ outcome: 'denied', user: 'bob\u001b[2J' }));
    await run({ output: 'table' });
    const [head, row] = out.split('\n');
    expect(head).toMatch(/^TIME +USER +CALL +TARGET +BACKEND +OUTCOME +MS +WHY$/);
    expect(row).toMatch(/^\S+Z +bob\\u001b\[2J +tools\/call +a_echo +a +denied +10 +unknown_name, readers-only$/);
  });

  it('counts by user, target, backend and outcome, with durations', async () => {
    const calls = Array.from({ length: 100 }, (_, index) => lineOf({ ms: index + 1 })).join('');
    writeFileSync(log('one.log'), calls + lineOf({ outcome: 'denied', user: 'bob' }));
    await run({ summary: true });
    const rows = JSON.parse(out) as object[];
    expect(rows).toMatchObject([
      { user: 'alice', name: 'a_echo', backend: 'a', outcome: 'success', count: 100 },
      { user: 'bob', outcome: 'denied', count: 1 },
    ]);
    const { p50, p95 } = rows[0] as { p50: number; p95: number };
    expect(Math.abs(p50 - 50)).toBeLessThan(1.5);
    expect(Math.abs(p95 - 95)).toBeLessThan(2.5);
    out = '';
    await run({ summary: true, output: 'table' });
    expect(out).toMatch(/^USER +TARGET +BACKEND +OUTCOME +COUNT +P50 MS +P95 MS\nalice +a_echo +a +success +100 /);
  });

  it('follows appended lines across a rotation', async () => {
    writeFileSync(log('one.log'), lineOf({ ago: 4, tool: 'a_1' }));
    const ended = run({ follow: true });
    await shows(['a_1']);
    appendFileSync(log('one.log'), lineOf({ ago: 3, tool: 'a_2' }));
    renameSync(log('one.log'), log('one.log.1'));
    writeFileSync(log('one.log'), lineOf({ ago: 2, tool: 'a_3' }) + lineOf({ ago: 1, tool: 'a_4' }).repeat(3));
    await shows(['a_1', 'a_2', 'a_3', 'a_4', 'a_4', 'a_4']);
    stop.abort();
    expect(await ended).toBe(0);
  });

  it('says how lines come about if none matches', async () => {
    expect(await run()).toBe(0);
    expect([out, err]).toEqual(['', 'no audit line matches: lines are written where audit.enabled is true\n']);
  });
});
