import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { fileRecords } from '../stores/file-records.ts';
import { clusterSkills, MOST } from './cluster-skills.ts';
import { clusterSkillsContract } from './contract/cluster-skills.contract.ts';
import { ROOMS, StagingRooms } from './staging-rooms.ts';
import { tgzOf } from './testdata/archives.ts';
import { type ArtifactServer, serveArtifacts } from './testdata/serve-artifacts.ts';
import { skillText } from './testdata/skills-place.ts';

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

it('a registry that never answers holds up its own namespace for a while, and no other one', async () => {
  const folder = makeFolder();
  const rooms = new StagingRooms(folder, 200);
  const skillsOf = (namespace: string) => {
    const records = fileRecords(join(folder, 'records'), namespace);
    const readers = { list: () => Promise.resolve([]), checkGroup: () => Promise.resolve() };
    const reach = { localPaths: false, privateAddresses: true, proxy: undefined, searchPath: '/none' };
    const rules = { ...reach, deadline: 60_000 };
    return clusterSkills({ namespace, records, readers, rules, now: Date.now }, rooms);
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

it('what is unpacked at once, with the layers that it comes from, fits the disk that the chart gives an operator', () => {
  const chart = join(import.meta.dirname, '../../../charts/vmcp/templates/operator/deployment.yaml');
  const [, mebibytes] = /name: tmp\n +emptyDir:\n +sizeLimit: (\d+)Mi/.exec(readFileSync(chart, 'utf8')) ?? [];
  expect(Number(mebibytes) * 2 ** 20).toBeGreaterThan(ROOMS * 2 * MOST);
});
