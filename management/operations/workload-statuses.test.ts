import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { keyOf } from '../stores/record-store.ts';
import type { Operation } from '../operation.ts';
import type { Services } from '../services.ts';
import { type Asked, askOperation, type Told } from '../testdata/ask-operation.ts';
import { meetProblem, problemCases } from '../testdata/problem-cases.ts';
import { requestOnMachine } from '../testdata/operation-samples.ts';
import { serveOperations, type ServedOperations } from '../testdata/serve-operations.ts';
import { type Scenarios, usualScenarios } from '../testdata/usual-scenarios.ts';
import { untilDisturbed, writeAnew } from '../testdata/write-anew.ts';
import { GROUP, SEARCH, type WorkloadsFixture, openWorkloadsFixture } from '../workloads/testdata/workloads-fixture.ts';
import { groupOperations } from './groups.ts';
import { operationOperations } from './table.ts';
import { workloadOperations } from './workloads.ts';

const ROWS: readonly Operation[] = [...workloadOperations, ...groupOperations, ...operationOperations];

let fixture: WorkloadsFixture;
let served: ServedOperations;
let closers: (() => unknown)[] = [];
beforeEach(() => {
  fixture = openWorkloadsFixture();
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
  closers = [];
  await fixture.services().operations.idle();
  fixture.remove();
});

async function serve(services: Services, options: { burst?: number; deadline?: number } = {}): Promise<void> {
  served = await serveOperations(ROWS, { services, deadline: 30_000, ...options });
  closers.push(() => served.close());
}

const usual = ({ id }: Operation): Asked => requestOnMachine(id);
const ask = (row: Operation, more: Asked = {}): Promise<Told> => askOperation(served, row, { ...usual(row), ...more });

/** Rewrites a file continuously until the end of the test. */
async function disturb(file: string, text: string): Promise<void> {
  const { stop } = await writeAnew(file, `${text}# `, '\n');
  closers.push(stop);
}

/** Returns a manifest as text. */
const manifest = (kind: string, spec: string, metadata = '{ name: search }'): string =>
  `apiVersion: vmcp.dev/v1alpha1\nkind: ${kind}\nspec: ${spec}\nmetadata: ${metadata}\n`;

/** Manifests that cannot be edited without loss, or that another owner has: operationId, then file, then text. */
const OWNED: Record<string, Record<string, string>> = {
  createWorkload: {
    'theirs.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: made-permissions }\ndata: { a: b }\n',
  },
  editWorkload: {
    'search.yaml': manifest('MCPServer', '{ image: &n one }', '{ name: search, labels: { of: *n } }'),
  },
  stopWorkload: { 'search.yaml': manifest('MCPServer', '{ image: a, suspend: &s false, trustProxyHeaders: *s }') },
  startWorkload: { 'search.yaml': manifest('MCPServer', '{ image: a, suspend: &s true, trustProxyHeaders: *s }') },
  restartWorkload: {
    'search.yaml': manifest(
      'MCPServer',
      '{ image: a }',
      '{ name: search, annotations: { vmcp.dev/restarted-at: &t "2020", of: *t } }',
    ),
  },
  editGroup: {
    'group.yaml': manifest('MCPGroup', '{ description: &d one }', '{ name: tools, labels: { of: *d } }'),
  },
};

const SCENARIOS: Scenarios = {
  ...usualScenarios({ services: () => fixture.services(), serve, ask }),
  async not_found(row) {
    await serve(fixture.services());
    return row.id === 'listWorkloads'
      ? ask(row, { query: { group: 'none' } })
      : ask(row, { params: row.id === 'getOperation' ? { id: 'none' } : { name: 'none' } });
  },
  async stale(row) {
    fixture.write('empty.yaml', GROUP.replace('tools', 'empty'));
    await serve(fixture.services());
    return ask(row, { headers: { 'if-match': '"of-another-time"' } });
  },
  async inline_secret(row) {
    await serve(fixture.services());
    const secrets = [{ name: 'hunter2', target: 'TOKEN' }];
    return ask(row, { body: { ...(usual(row).body as object), secrets } });
  },
  async already_exists(row) {
    await serve(fixture.services());
    const name = row.id === 'createGroup' ? 'tools' : 'search';
    return ask(row, { body: { ...(usual(row).body as object), name } });
  },
  async in_use(row) {
    await serve(fixture.services());
    if (row.id !== 'deleteGroup') {
      fixture.write('other.yaml', manifest('MCPServer', '{ image: a, proxyPort: 7001 }', '{ name: other }'));
      return ask(row, { body: { ...(usual(row).body as object), proxy_port: 7001 } });
    }
    return ask(row, { params: { name: 'tools' } });
  },
  async conflict(row) {
    await serve(fixture.services());
    for (const [file, text] of Object.entries(OWNED[row.id] ?? {})) fixture.write(file, text);
    const profile = row.id === 'createWorkload' ? { permission_profile: { read: ['/x'] } } : {};
    const { body } = usual(row);
    return ask(row, body === undefined ? {} : { body: { ...(body as object), ...profile } });
  },
  async busy(row) {
    await serve(fixture.services());
    if (row.id === 'createWorkload' || row.id === 'createGroup') {
      const kind = row.id === 'createWorkload' ? 'mcpserver' : 'mcpgroup';
      for (let n = 1; n < 1000; n += 1) fixture.write(`${kind}-made${n === 1 ? '' : `-${n}`}.yaml`, '');
      return ask(row);
    }
    if (row.path.startsWith('/groups')) {
      const name = row.id === 'deleteGroup' ? 'empty' : 'tools';
      rmSync(join(fixture.folder, 'group.yaml'));
      // The comment keeps the file when the group is deleted.
      await disturb(join(fixture.folder, `${name}.yaml`), `# Ours.\n${GROUP.replace('tools', name)}`);
      return untilDisturbed(409, () => ask(row));
    }
    const text = row.id === 'startWorkload' ? SEARCH.replace('spec:', 'spec:\n  suspend: true') : SEARCH;
    await disturb(join(fixture.folder, 'search.yaml'), text);
    return untilDisturbed(409, () => ask(row));
  },
  async store_damaged(row) {
    const folder = join(fixture.state.path, 'records/default/operations');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${keyOf('broken')}.json`), '{"half');
    await serve(fixture.services());
    return ask(row, { params: { id: 'broken' } });
  },
};

describe('each problem of an operation', () => {
  it.each(problemCases(ROWS))('occurs on one machine: $name $status $code', (met) => meetProblem(met, SCENARIOS));
});

describe('each operation', () => {
  it.each(ROWS.map((row) => ({ row, name: `${row.method} ${row.path}` })))('succeeds: $name', async ({ row }) => {
    fixture.write('empty.yaml', GROUP.replace('tools', 'empty'));
    mkdirSync(fixture.state.logs, { recursive: true });
    writeFileSync(join(fixture.state.logs, 'mcp-search.log'), 'one\ntwo\n');
    await serve(fixture.services());
    const params =
      row.id === 'getOperation' ? { id: await fixture.services().operations.begin('restart', []) } : undefined;
    const told = await ask(row, params && { params });
    expect(told.status).toBe(row.success);
    if (row.media === undefined) row.result.parse(told.body === '' ? undefined : told.body);
    else expect(told.body).toBe('one\ntwo\n');
    expect(told.etag !== '').toBe(row.givesTag === true);
  });
});
