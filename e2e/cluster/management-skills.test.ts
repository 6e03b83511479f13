import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { InstalledSkill } from '#management/records/skill';
import { clusterSkillsContract } from '#management/skills/contract/cluster-skills.contract';
import { tgzOf } from '#management/skills/testdata/archives';
import { serveArtifacts } from '#management/skills/testdata/serve-artifacts';
import { skillText } from '#management/skills/testdata/skills-fixture';
import { configMapRecords } from '#management/stores/config-map-records';
import { type GitServer, serveGit } from '../skills/serve-git.ts';
import { useApis } from './use-apis.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';
import { useManagement } from './use-management.ts';

describeWithCluster('the skills of a real cluster', (cluster) => {
  const stage = useManagement(cluster, 'management-skills', '--allow-private-addresses');
  const { openApi, makeNamespace } = useApis(cluster, 'skills');
  const api = openApi();
  let made: Namespace | undefined;
  let git: GitServer;
  beforeAll(async () => {
    git = await serveGit();
  });
  afterAll(() => git.close());

  clusterSkillsContract('ConfigMaps', async () => {
    made ??= await makeNamespace();
    const records = configMapRecords({ api, namespace: made.name, apiGroup: 'vmcp.dev' });
    for (const kind of ['skills', 'skillchanges'] as const)
      for (const { name } of await records(kind).list()) await records(kind).delete(name);
    return records;
  });

  const archiveOf = async (name: string, data: string) => {
    const files = [
      { name: 'SKILL.md', text: skillText(name) },
      { name: 'data', text: data },
    ];
    return (await tgzOf(files)).toString('base64');
  };
  const install = (body: object) => stage.ask('POST', '/skills', { body });
  const namesOf = async (...how: Parameters<typeof stage.ask>) =>
    ((await stage.ask(...how)).body as { skills: InstalledSkill[] }).skills.map(({ metadata }) => metadata.name);

  it('belong to a namespace and its groups, and use its ConfigMaps', async () => {
    const archive = await archiveOf('notes', 'x');
    expect((await install({ archive, group: 'none' })).status).toBe(400);
    expect((await stage.ask('POST', '/groups', { body: { name: 'tools' } })).status).toBe(201);
    expect((await install({ archive, group: 'tools' })).status).toBe(201);
    expect(await namesOf('GET', '/skills')).toEqual(['notes']);
    expect(await namesOf('GET', '/skills', { as: 'neighbour', namespace: stage.otherNamespace })).toEqual([]);
    const path = `/api/v1/namespaces/${stage.namespace}/configmaps?labelSelector=vmcp.dev/record%3Dskills`;
    expect((await cluster.ask('GET', path)).body.items).toHaveLength(1);
    expect((await stage.ask('DELETE', '/skills/notes')).status).toBe(204);
  });

  it('come from a git repository with their dependencies, pinned to commits', async () => {
    const beta = git.commit('b.git', { 'SKILL.md': skillText('beta') });
    const requires = `requires: ["git+${git.url}/b.git"]\n`;
    const alpha = git.commit('a.git', { 'skills/alpha/SKILL.md': skillText('alpha', requires) });
    const name = `git+${git.url}/a.git@main#skills/alpha`;
    const { status, body } = await install({ name, allow_private_ip: true });
    expect([status, body]).toMatchObject([
      201,
      {
        skill: {
          reference: `git+${git.url}/a.git@${alpha}#skills/alpha`,
          tag: 'main',
          dependencies: [{ name: 'beta', reference: `git+${git.url}/b.git@${beta}` }],
        },
      },
    ]);
    expect(await namesOf('GET', '/skills')).toEqual(['alpha', 'beta']);
    for (const skill of ['alpha', 'beta']) expect((await stage.ask('DELETE', `/skills/${skill}`)).status).toBe(204);
  }, 60_000);

  it('return busy while another request works on skills for too long', async () => {
    const silent = await serveArtifacts(() => true);
    const held = install({ name: `${silent.host}/o/n:v1`, allow_private_ip: true });
    while (silent.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    const archive = await archiveOf('late', 'x');
    const refused = [install({ archive }), stage.ask('POST', '/skills/validate', { body: { archive } })];
    for (const { status, body } of await Promise.all(refused))
      expect([status, body]).toEqual([409, expect.objectContaining({ code: 'busy' })]);
    await silent.close();
    expect((await held).status).toBe(500);
    expect(await namesOf('GET', '/skills')).not.toContain('late');
    expect((await install({ archive })).status).toBe(201);
    expect((await stage.ask('DELETE', '/skills/late')).status).toBe(204);
  }, 60_000);

  it('survive kill -9 of the operator: the state is that before or after an installation', async () => {
    const data = randomBytes(40_000).toString('base64');
    const archives = new Map<number, string>();
    const archive = async (nr: number) => {
      archives.set(nr, await archiveOf('notes', `${nr} ${data}`));
      return archives.get(nr);
    };
    expect((await install({ archive: await archive(0) })).status).toBe(201);
    const answered = await stage.killAmid(async (nr) => install({ archive: await archive(nr), force: true }));
    await stage.start();
    const { body } = await stage.ask('GET', '/skills/notes?archive=true');
    const left = body as { archive: string; installed_skill: InstalledSkill };
    expect([archives.get(answered), archives.get(answered + 1)]).toContain(left.archive);
    expect(left.installed_skill.status).toBe('installed');
    expect(await namesOf('GET', '/skills')).toEqual(['notes']);
    expect((await install({ archive: await archive(-1), force: true })).status).toBe(201);
    // The staging folder must be empty, too.
    const own = readdirSync(stage.folder).find((entry) => entry.startsWith('vmcp-skills-')) ?? '';
    expect(readdirSync(join(stage.folder, own, 'staging'))).toEqual([]);
  }, 120_000);
});
