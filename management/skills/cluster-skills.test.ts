import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { configMapRecords } from '../stores/config-map-records.ts';
import { fileRecords } from '../stores/file-records.ts';
import { ListSemaphore } from '../stores/list-semaphore.ts';
import { keyOf, type Records } from '../stores/record-store.ts';
import { clusterSkills, MOST } from './cluster-skills.ts';
import { clusterSkillsContract } from './contract/cluster-skills.contract.ts';
import { StoredSkill } from './skills.ts';
import { STAGED_AT_ONCE, StagingSemaphore } from './staging-semaphore.ts';
import { tgzOf } from './testdata/archives.ts';
import { type ArtifactServer, serveArtifacts } from './testdata/serve-artifacts.ts';
import { skillText } from './testdata/skills-fixture.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-cluster-skills-'));
  folders.push(folder);
  return folder;
}

clusterSkillsContract('files', () => Promise.resolve(fileRecords(makeFolder(), 'default')));

let silent: ArtifactServer;
beforeEach(async () => {
  silent = await serveArtifacts(() => true);
});
afterEach(() => silent.close());

it('blocks only its own namespace for a limited time when a registry never answers', async () => {
  const folder = makeFolder();
  const semaphore = new StagingSemaphore(folder, 200);
  const skillsOf = (namespace: string) => {
    const records = fileRecords(join(folder, 'records'), namespace);
    const readers = { list: () => Promise.resolve([]), checkGroup: () => Promise.resolve() };
    const reach = { localPaths: false, privateAddresses: true, proxy: undefined, searchPath: '/none' };
    const rules = { ...reach, deadline: 60_000 };
    return clusterSkills({ namespace, records, readers, rules, lists: new ListSemaphore(), now: Date.now }, semaphore);
  };
  const archive = await tgzOf([{ name: 'SKILL.md', text: skillText('notes') }]);
  const asked = { version: undefined, digest: undefined, scope: 'user', projectRoot: undefined } as const;
  const usual = { ...asked, clients: undefined, group: undefined, force: false, allowPrivateAddress: true };
  const signal = new AbortController().signal;
  const sent = { ...usual, reference: undefined, archive, signal };
  const gone = new AbortController();
  const fromSilent = { ...usual, reference: `${silent.host}/o/n:v1`, archive: undefined, signal: gone.signal };
  const held = skillsOf('a').install(fromSilent);
  held.catch(() => undefined);
  while (silent.asked.length === 0) await new Promise(setImmediate);
  expect((await skillsOf('b').install(sent)).metadata.name).toBe('notes');
  expect((await skillsOf('b').validate({ archive, signal })).valid).toBe(true);
  await expect(skillsOf('a').install(sent)).rejects.toMatchObject({ code: 'busy' });
  gone.abort();
  await expect(held).rejects.toMatchObject({ code: 'source_failed' });
  expect((await skillsOf('a').install(sent)).metadata.name).toBe('notes');
  const own = readdirSync(folder).find((name) => name.startsWith('vmcp-skills-')) ?? '';
  expect(readdirSync(join(folder, own, 'staging'))).toEqual([]);
});

it('uninstalls skills that are too long to list one by one, and installs no more until then', async () => {
  const server = await new ObjectServer().start();
  const records = configMapRecords({ api: server.api(), namespace: 'team', apiGroup: DEFAULT_API_GROUP });
  const readers = { list: () => Promise.resolve([]), checkGroup: () => Promise.resolve() };
  const reach = { localPaths: false, privateAddresses: true, proxy: undefined, searchPath: '/none' };
  const rules = { ...reach, deadline: 60_000 };
  const options = { namespace: 'team', records, readers, rules, lists: new ListSemaphore(), now: Date.now };
  const skills = clusterSkills(options, new StagingSemaphore(makeFolder()));
  const place = { scope: undefined, projectRoot: undefined };
  const install = async (name: string) => {
    const archive = await tgzOf([{ name: 'SKILL.md', text: skillText(name) }]);
    const asked = { reference: undefined, archive, version: undefined, digest: undefined };
    const user = { scope: 'user', projectRoot: undefined } as const;
    const more = { clients: undefined, group: undefined, force: false, allowPrivateAddress: false };
    return skills.install({ ...asked, ...user, ...more, signal: new AbortController().signal });
  };
  await install('first');
  const value = StoredSkill.parse((await records('skills').get('user:first'))?.value);
  const made = server.calls.find(({ method }) => method === 'POST')?.body as KubeObject;
  const archive = 'x'.repeat(800_000);
  for (let n = 0; n < 22; n += 1) {
    const name = `s${n}`;
    const at = `vmcp.skills.${keyOf(`user:${name}`)}`;
    const text = JSON.stringify({ ...value, metadata: { ...value.metadata, name }, archive });
    const metadata = { ...made.metadata, name: at, annotations: { 'vmcp.dev/record-name': `user:${name}` } };
    server.put(`/api/v1/namespaces/team/configmaps/${at}`, { ...made, metadata, data: { 'record.json': text } });
  }
  const list = () => skills.list({ scope: undefined, projectRoot: undefined, client: undefined, group: undefined });
  await expect(list()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(install('more')).rejects.toMatchObject({ code: 'too_large' });
  await expect(skills.uninstall('none', place, false)).rejects.toMatchObject({ code: 'not_found' });
  for (const name of ['s0', 's1', 's2', 's3']) await skills.uninstall(name, place, false);
  expect(await list()).toHaveLength(19);
  await install('more');
  await server.close();
});

it('limits the reads of skills at once, for a list and for one skill', async () => {
  const folder = makeFolder();
  const { promise: answered, resolve: answer } = Promise.withResolvers<undefined>();
  let reading = 0;
  const records: Records = (kind) => ({
    ...fileRecords(join(folder, 'records'), 'team')(kind),
    list: async () => {
      reading += 1;
      await answered;
      return [];
    },
  });
  const readers = { list: () => Promise.resolve([]), checkGroup: () => Promise.resolve() };
  const reach = { localPaths: false, privateAddresses: true, proxy: undefined, searchPath: '/none' };
  const lists = new ListSemaphore({ atOnce: 1, queue: 1 });
  const skillsOf = (namespace: string) => {
    const options = { namespace, records, readers, rules: { ...reach, deadline: 60_000 }, lists, now: Date.now };
    return clusterSkills(options, new StagingSemaphore(folder));
  };
  const list = (namespace: string) =>
    skillsOf(namespace).list({ scope: undefined, projectRoot: undefined, client: undefined, group: undefined });
  const all = [list('a'), list('b')];
  await expect(skillsOf('c').get('notes', { scope: undefined, projectRoot: undefined })).rejects.toMatchObject({
    code: 'unavailable',
    message: 'the skills of namespace "c" are not listed: too many lists wait to be read; try again later',
  });
  expect(reading).toBe(1);
  answer(undefined);
  expect(await Promise.all(all)).toEqual([[], []]);
});

it('unpacks at most as much at once, with layers, as the disk that the chart gives an operator', () => {
  const chart = join(import.meta.dirname, '../../charts/vmcp/templates/management/deployment.yaml');
  const [, mebibytes] = /name: tmp\n +emptyDir:\n +sizeLimit: (\d+)Mi/.exec(readFileSync(chart, 'utf8')) ?? [];
  expect(Number(mebibytes) * 2 ** 20).toBeGreaterThan(STAGED_AT_ONCE * 2 * MOST);
});
