import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AUDIT_EVENT_TYPES, AuditConfig } from '#crds/parts/audit';
import { ConfigError } from '#runtime/errors';
import type { Audit, AuditEvent } from './audit.ts';
import { type AuditDeps, createAudit } from './create-audit.ts';

const START = Date.UTC(2030, 0, 1);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let folder: string;
let clock: number;
let stream: PassThrough;
let logged: string[];
let counts: { written: number; dropped: number };
let opened: Audit[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'));
  clock = START;
  stream = new PassThrough();
  [logged, opened, counts] = [[], [], { written: 0, dropped: 0 }];
});
afterEach(async () => {
  await Promise.all(opened.map((audit) => audit.close(10)));
  await rm(folder, { recursive: true });
});

function open(config: Partial<AuditConfig>, deps: Partial<AuditDeps> = {}): Audit {
  const write = (text: string, fields?: unknown) => logged.push(`${text} ${JSON.stringify(fields)}`);
  const log = { debug: write, info: write, warn: write, error: write };
  const audit = createAudit(AuditConfig.parse({ enabled: true, ...config }), {
    component: 'demo',
    stream,
    now: () => clock,
    log,
    counts,
    ...deps,
  });
  opened.push(audit);
  return audit;
}

const call: AuditEvent = { type: 'mcp_tool_call', outcome: 'success' };
const parse = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
async function written(audit: Audit): Promise<Record<string, unknown>[]> {
  await audit.close(1000);
  return parse(String(stream.read() ?? ''));
}
async function dataOf(config: Partial<AuditConfig>, event: Partial<AuditEvent>): Promise<unknown> {
  const audit = open({ includeRequestData: true, includeResponseData: true, ...config });
  audit.record({ ...call, ...event });
  return (await written(audit))[0]?.data;
}

describe('audit', () => {
  it('writes one JSON object per line with all members in order', async () => {
    const audit = open({ includeRequestData: true });
    audit.record({
      type: 'mcp_tool_call',
      outcome: 'denied',
      source: '10.0.0.1',
      subjects: { user: 'Alice', user_id: 'a1', client_name: 'inspector', client_version: '1' },
      target: { endpoint: '/mcp', method: 'tools/call', type: 'tool', name: 'files_write', backend: 'files' },
      metadata: {
        duration_ms: 1.23456,
        transport: 'streamable-http',
        revision: '2025-11-25',
        session: '0123456789abcdef',
        trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      },
      request: { name: 'files_write' },
    });
    const [line] = await written(audit);
    expect(Object.keys(line ?? {})).toEqual([
      'audit_id',
      'type',
      'logged_at',
      'outcome',
      'component',
      'source',
      'subjects',
      'target',
      'metadata',
      'data',
    ]);
    expect(line).toEqual({
      audit_id: expect.stringMatching(UUID),
      type: 'mcp_tool_call',
      logged_at: '2030-01-01T00:00:00.000Z',
      outcome: 'denied',
      component: 'demo',
      source: '10.0.0.1',
      subjects: { user: 'Alice', user_id: 'a1', client_name: 'inspector', client_version: '1' },
      target: { endpoint: '/mcp', method: 'tools/call', type: 'tool', name: 'files_write', backend: 'files' },
      metadata: {
        duration_ms: 1.235,
        transport: 'streamable-http',
        revision: '2025-11-25',
        session: '0123456789abcdef',
        trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      },
      data: { request: { name: 'files_write' } },
    });
  });

  it('omits unknown members and names the configured component', async () => {
    const audit = open({ component: 'edge' });
    audit.record({ ...call, audit_id: 'req-1', target: {}, metadata: {} });
    clock += 5;
    audit.record(call);
    const lines = await written(audit);
    expect(lines[0]).toEqual({
      audit_id: 'req-1',
      type: 'mcp_tool_call',
      logged_at: '2030-01-01T00:00:00.000Z',
      outcome: 'success',
      component: 'edge',
      subjects: {},
      target: {},
      metadata: {},
    });
    expect(lines[1]?.logged_at).toBe('2030-01-01T00:00:00.005Z');
  });

  it('writes nothing if it is not enabled', async () => {
    const audit = open({ enabled: false });
    audit.record(call);
    expect(audit.wants('mcp_tool_call')).toBe(false);
    expect(await written(audit)).toEqual([]);
  });

  it.each([
    ['only the chosen types', { eventTypes: ['mcp_tool_call', 'mcp_ping'] }, ['mcp_tool_call', 'mcp_ping']],
    [
      'all but the excluded types',
      { excludeEventTypes: ['mcp_ping'] },
      AUDIT_EVENT_TYPES.filter((type) => type !== 'mcp_ping'),
    ],
    [
      'exclusion over choice',
      { eventTypes: ['mcp_ping', 'mcp_tool_call'], excludeEventTypes: ['mcp_ping'] },
      ['mcp_tool_call'],
    ],
    ['every type by default', {}, [...AUDIT_EVENT_TYPES]],
  ])('writes %s', async (_case, config, expected) => {
    const audit = open(config);
    for (const type of AUDIT_EVENT_TYPES) audit.record({ ...call, type });
    expect((await written(audit)).map((line) => line.type)).toEqual(expected);
    expect(AUDIT_EVENT_TYPES.filter((type) => audit.wants(type))).toEqual(expected);
  });

  it('keeps each event on one line, even if names contain line breaks', async () => {
    const audit = open({});
    audit.record({ ...call, target: { name: 'a"\n{"type":"forged"}\u2028' }, subjects: { user: '\u0000' } });
    const lines = await written(audit);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.target).toEqual({ name: 'a"\n{"type":"forged"}\u2028' });
  });

  it('cuts long names', async () => {
    const audit = open({});
    audit.record({ ...call, target: { name: 'x'.repeat(100_000) } });
    expect(JSON.stringify(await written(audit)).length).toBeLessThan(1500);
  });
});

describe('audit data', () => {
  it.each([
    [{ includeRequestData: false }, { response: { ok: true } }],
    [{ includeResponseData: false }, { request: { a: 1 } }],
    [{ includeRequestData: false, includeResponseData: false }, undefined],
  ])('renders %j as %j', async (config, expected) => {
    expect(await dataOf(config, { request: { a: 1 }, response: '{"ok":true}' })).toEqual(expected);
  });

  it('cuts data to maxDataSize bytes and marks it as cut', async () => {
    const data = await dataOf({ maxDataSize: 100 }, { request: { text: 'é"'.repeat(500) }, response: { later: 1 } });
    const { request, response } = data as { request: string; response: string };
    expect(request).toMatch(/^\{"text":"é/);
    expect(
      Buffer.byteLength(JSON.stringify(request)) + Buffer.byteLength(JSON.stringify(response)),
    ).toBeLessThanOrEqual(102);
    expect(Buffer.byteLength(JSON.stringify(request))).toBeGreaterThan(90);
    expect(data).toMatchObject({ truncated: ['request', 'response'] });
  });

  it('keeps data of exactly maxDataSize bytes whole', async () => {
    const request = { text: 'x'.repeat(89) };
    expect(Buffer.byteLength(JSON.stringify(request))).toBe(100);
    expect(await dataOf({ maxDataSize: 100 }, { request })).toEqual({ request });
  });

  it('redacts secrets at any depth and in any form', async () => {
    const request = {
      headers: { Authorization: 's3cret', 'x-api-key': 's3cret' },
      list: [{ client_secret: { value: 's3cret' }, password: ['s3cret'] }],
      text: 'curl -H "Authorization: Bearer s3cret-s3cret"',
      url: 'https://x/?access_token=s3cret',
      jwt: 'eyJhbGciOiJIUzI1NiJ9.s3cret.s3cret',
    };
    const data = await dataOf({ maxDataSize: 10_000 }, { request, response: JSON.stringify(request) });
    expect(JSON.stringify(data)).not.toContain('s3cret');
    expect(JSON.stringify(data)).toContain('[redacted]');
  });

  it('redacts secrets in cut data', async () => {
    const data = await dataOf({ maxDataSize: 40 }, { request: { token: 's3cret'.repeat(50), more: 'x'.repeat(100) } });
    expect(JSON.stringify(data)).not.toContain('s3c');
  });

  it('marks unreadable data as omitted', async () => {
    expect(await dataOf({}, { response: 'not json' })).toEqual({ response: '', truncated: ['response'] });
  });

  it('writes details regardless of the included data', async () => {
    const config = { includeRequestData: false, includeResponseData: false };
    const details = {
      policies: [{ id: 'p1' }],
      reason: 'its code came a second time',
      client_id: 'a-client',
      count: '12',
    };
    expect(await dataOf(config, { details })).toEqual(details);
  });
});

describe('audit file', () => {
  it('appends to the file', async () => {
    const logFile = join(folder, 'audit.log');
    for (const outcome of ['success', 'failure'] as const) {
      const audit = open({ logFile });
      audit.record({ ...call, outcome });
      await audit.close(1000);
    }
    expect(parse(await readFile(logFile, 'utf8')).map((line) => line.outcome)).toEqual(['success', 'failure']);
    expect(counts).toEqual({ written: 2, dropped: 0 });
  });

  it.each(['by itself', 'when told'])('reopens the file after rotation %s', async (how) => {
    const logFile = join(folder, 'audit.log');
    const audit = open({ logFile });
    audit.record(call);
    await waitFor(() => counts.written === 1);
    await rename(logFile, `${logFile}.1`);
    if (how === 'when told') audit.reopen();
    else clock += 2000;
    audit.record({ ...call, outcome: 'error' });
    await audit.close(1000);
    expect(parse(await readFile(`${logFile}.1`, 'utf8'))).toHaveLength(1);
    expect(parse(await readFile(logFile, 'utf8'))).toHaveLength(1);
  });

  it('refuses a pipe without a reader and does not wait for one', () => {
    const logFile = join(folder, 'pipe');
    execFileSync('mkfifo', [logFile]);
    expect(() => open({ logFile })).toThrow(/it is no regular file/);
  });

  it('refuses a pipe that has a reader', () => {
    const logFile = join(folder, 'pipe');
    execFileSync('mkfifo', [logFile]);
    const reader = openSync(logFile, constants.O_RDONLY | constants.O_NONBLOCK);
    expect(() => open({ logFile })).toThrow(/it is no regular file/);
    closeSync(reader);
  });

  it('accepts a character device', () => {
    expect(() => open({ logFile: '/dev/null' })).not.toThrow();
  });

  it('refuses a file that cannot be opened at the start', () => {
    expect(() => open({ logFile: join(folder, 'none', 'audit.log') })).toThrow(ConfigError);
    expect(() => open({ logFile: join(folder, 'none', 'audit.log') })).toThrow(/its folder does not exist/);
    expect(() => open({ logFile: folder })).toThrow(/it is a folder/);
  });
});

describe('slow or failing audit stream', () => {
  it('drops, counts and logs lines over the bound without delaying calls', () => {
    const stalled = new Writable({ write: () => undefined });
    const audit = open({}, { stream: stalled, maxBytes: 10_000 });
    for (let event = 0; event < 1000; event++) audit.record(call);
    expect(counts.dropped).toBeGreaterThan(900);
    expect(logged.filter((line) => line.includes('dropped'))).toHaveLength(1);
  });

  it('drops and counts the remaining lines at the closing deadline', async () => {
    const audit = open({}, { stream: new Writable({ write: () => undefined }) });
    for (let event = 0; event < 5; event++) audit.record(call);
    await audit.close(30);
    expect(counts).toEqual({ written: 0, dropped: 5 });
  });

  it('survives a reader that disconnects', async () => {
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) });
    const audit = open({}, { stream: broken });
    audit.record(call);
    await audit.close(200);
    expect(counts).toEqual({ written: 0, dropped: 1 });
    expect(logged.join()).toMatch(/cannot be written; trying again/);
  });

  it('counts an event that cannot be written and does not throw', () => {
    const details = {
      get bad(): never {
        throw new Error('no');
      },
    };
    const audit = open({});
    expect(() => audit.record({ ...call, details })).not.toThrow();
    expect(counts.dropped).toBe(1);
  });
});

async function waitFor(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 12_000 && !condition(); turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}
