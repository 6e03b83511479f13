import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { homeOf } from '#management/clients/files/clients';
import { FileLock } from '#lib/files/file-lock';
import { openClientsFixture } from '../clients/testdata/clients-fixture.ts';
import type { Operation } from '../operation.ts';
import { openRegistries } from '../registries/testdata/open-registries.ts';
import { serveRegistry } from '../registries/testdata/serve-registry.ts';
import type { Services } from '../services.ts';
import { PASSWORD, openSecretsFixture, type SecretsFixture } from '../secrets/testdata/secrets-fixture.ts';
import { LocalSkills } from '../skills/local-skills.ts';
import { tgzOf } from '../skills/testdata/archives.ts';
import { skillText } from '../skills/testdata/skills-fixture.ts';
import { type Asked, askOperation, type Told } from '../testdata/ask-operation.ts';
import { meetProblem, problemCases } from '../testdata/problem-cases.ts';
import { requestOnMachine } from '../testdata/operation-samples.ts';
import { serveOperations, type ServedOperations } from '../testdata/serve-operations.ts';
import { type Scenarios, usualScenarios } from '../testdata/usual-scenarios.ts';
import { untilDisturbed, writeAnew } from '../testdata/write-anew.ts';
import { type WorkloadsFixture, openWorkloadsFixture } from '../workloads/testdata/workloads-fixture.ts';
import { groupOperations } from './groups.ts';
import { operationOperations, OPERATIONS } from './table.ts';
import { workloadOperations } from './workloads.ts';

/** Tested in workload-statuses.test.ts. */
const OTHERS: readonly Operation[] = [...workloadOperations, ...groupOperations, ...operationOperations];
const ROWS = OPERATIONS.filter((row) => !OTHERS.includes(row));

let fixture: WorkloadsFixture;
let secrets: SecretsFixture;
let served: ServedOperations;
let closers: (() => unknown)[] = [];
beforeEach(() => {
  fixture = openWorkloadsFixture();
  secrets = openSecretsFixture();
  closers = [() => secrets.remove(), () => fixture.remove()];
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
});

async function serve(services: Services, options: { burst?: number; deadline?: number } = {}): Promise<void> {
  served = await serveOperations(OPERATIONS, { services, deadline: 30_000, ...options });
  closers.push(() => served.close());
}

/** Returns the services of this machine, with replacements for some. */
const servicesWith = (some: Partial<Services> = {}): Services => {
  const ours = { secrets: secrets.withPassword().in('default'), ...some };
  return new Proxy(fixture.services(), {
    get: (services, name) => (name in ours ? ours[name as keyof typeof ours] : services[name as keyof Services]),
  });
};

const ARCHIVE = (await tgzOf([{ name: 'notes/SKILL.md', text: skillText('notes') }])).toString('base64');

const usual = ({ id }: Operation): Asked =>
  id === 'installSkill' || id === 'validateSkill' ? { body: { archive: ARCHIVE } } : requestOnMachine(id);
const ask = (row: Operation, more: Asked = {}): Promise<Told> => askOperation(served, row, { ...usual(row), ...more });

/** Runs another operation that must succeed. */
async function first(id: string): Promise<void> {
  const row = ROWS.find((one) => one.id === id)!;
  const { status, body } = await ask(row);
  if (status !== row.success) throw new Error(`${id} answers ${status}: ${JSON.stringify(body)}`);
}

/** Sets up the secrets provider with one secret. */
async function setUpSecrets(): Promise<void> {
  const store = secrets.withPassword().in('default');
  await store.setUp('encrypted', PASSWORD);
  await store.create('THERE', 'hunter2');
}

const recordOf = (kind: string, name: string): string => {
  const folder = join(fixture.state.path, 'records/default', kind);
  mkdirSync(folder, { recursive: true });
  return join(folder, `${name}.json`);
};
const skillsFolder = (): string => join(fixture.home, '.local/state/vmcp/skills');
const installedFile = (): string => join(fixture.home, '.claude/skills/notes/SKILL.md');

/** Returns the skills of this machine, with no wait for the lock. */
const impatientSkills = (): Services['skills'] => {
  const rules = { localPaths: true, privateAddresses: true, proxy: undefined, searchPath: '', deadline: 10_000 };
  const home = homeOf({ HOME: fixture.home });
  const skills = new LocalSkills({ folder: skillsFolder(), home, rules, now: Date.now, patience: 0 });
  return skills.for({ list: () => Promise.resolve([]), checkGroup: () => Promise.resolve() });
};

async function openImpatientRegistries(): Promise<Services['registries']> {
  const opened = await openRegistries({ readDeadline: 100 });
  closers.push(() => opened.close());
  return opened.registries;
}

const SCENARIOS: Scenarios = {
  ...usualScenarios({ services: () => servicesWith(), serve, ask }),
  async not_found(row) {
    await serve(servicesWith());
    const isOfProvider = row.id === 'listSecrets' || row.id === 'createSecret';
    if (!isOfProvider && row.id.endsWith('Secret')) await setUpSecrets();
    const { params = {} } = usual(row);
    const none = Object.fromEntries(Object.keys(params).map((name) => [name, 'none']));
    return ask(row, { params: none });
  },
  async already_exists(row) {
    await serve(servicesWith());
    if (row.id === 'installSkill') await first('installSkill');
    else await setUpSecrets();
    return ask(row, row.id === 'createSecret' ? { body: { key: 'THERE', value: 'hunter2' } } : {});
  },
  async unsupported_provider(row) {
    await serve(servicesWith());
    return ask(row, { body: { provider_type: 'kubernetes' } });
  },
  async provider_read_only(row) {
    await secrets.open().in('default').setUp('environment', undefined);
    await serve(servicesWith());
    return ask(row);
  },
  async secrets_locked(row) {
    await setUpSecrets();
    const locked =
      row.id === 'setUpSecrets'
        ? secrets.open({ VMCP_SECRETS_PASSWORD_FILE: join(fixture.home, 'none') })
        : secrets.withPassword('another horse');
    await serve(servicesWith({ secrets: locked.in('default') }));
    return ask(row);
  },
  async conflict(row) {
    const clients = openClientsFixture();
    closers.push(() => clients.remove());
    await serve(servicesWith({ clients: clients.clients }));
    if (row.id === 'deleteClient') await first('registerClient');
    if (row.path.startsWith('/clients')) {
      clients.write('cursor', '{');
      return ask(row);
    }
    if (row.id === 'uninstallSkill') await first('installSkill');
    mkdirSync(join(installedFile(), '..'), { recursive: true });
    writeFileSync(installedFile(), 'mine');
    return ask(row);
  },
  async busy(row) {
    await serve(servicesWith());
    if (row.id === 'uninstallSkill') await first('installSkill');
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const held = new FileLock(join(skillsFolder(), '.lock')).run(() => promise);
    await new Promise((done) => setImmediate(done));
    await serve(servicesWith({ skills: impatientSkills() }));
    const told = await ask(row);
    resolve(undefined);
    await held;
    return told;
  },
  async stale(row) {
    if (row.id === 'updateRegistry') {
      await serve(servicesWith());
      return ask(row, { headers: { 'if-match': '"of-another-time"' } });
    }
    const { stop } = await writeAnew(
      recordOf('clients', 'cursor'),
      '{"name":"cursor","version":"',
      '","value":{"name":"cursor","groups":[]}}',
    );
    closers.push(stop);
    await serve(servicesWith());
    return untilDisturbed(412, () => ask(row));
  },
  async store_damaged(row) {
    await setUpSecrets();
    truncateSync(secrets.file, 100);
    writeFileSync(recordOf('clients', 'cursor'), '{"half');
    writeFileSync(recordOf('registries', 'default'), '{"half');
    mkdirSync(join(skillsFolder(), 'records/user/skills'), { recursive: true });
    writeFileSync(join(skillsFolder(), 'records/user/skills/notes.json'), '{"half');
    await serve(servicesWith());
    return ask(row);
  },
  async source_failed(row) {
    await serve(servicesWith());
    return ask(row, { body: { name: '127.0.0.1:1/a/b', allow_private_ip: true } });
  },
  async upstream_failed(row) {
    await serve(servicesWith());
    return ask(row, { body: { url: 'http://127.0.0.1:1/r', allow_private_ip: true } });
  },
  async upstream_timeout(row) {
    const silent = await serveRegistry(() => undefined);
    closers.push(() => silent.close());
    await serve(servicesWith({ registries: await openImpatientRegistries() }));
    return ask(row, { body: { url: `${silent.url}/r`, allow_private_ip: true } });
  },
};

describe('each problem of an operation', () => {
  it.each(problemCases(ROWS))('occurs on one machine: $name $status $code', (met) => meetProblem(met, SCENARIOS));
});

describe('each operation', () => {
  it.each(ROWS.map((row) => ({ row, name: `${row.method} ${row.path}` })))('succeeds: $name', async ({ row }) => {
    await setUpSecrets();
    await serve(servicesWith());
    if (row.id === 'deleteClient') await first('registerClient');
    if (row.id === 'getRegistry') await first('updateRegistry');
    if (row.id === 'getSkill' || row.id === 'uninstallSkill') await first('installSkill');
    const told = await ask(row);
    expect([told.status, told.etag !== '']).toEqual([row.success, row.givesTag === true]);
    row.result.parse(told.body === '' ? undefined : told.body);
  });
});
