import { afterAll, expect, it } from '@jest/globals';
import { KubeApi } from '#operator/kubernetes/api/api';
import { connect, loadKubeConfig } from '#operator/kubernetes/api/connection';
import { clusterRooms } from '#operator/management/cluster/cluster-rooms';
import { installSkill, listSkills } from '#operator/management/operations/skills';
import { clusterSkillsContract } from '#operator/management/skills/contract/cluster-skills.contract';
import { tgzOf } from '#operator/management/skills/testdata/archives';
import { skillText } from '#operator/management/skills/testdata/skills-place';
import { configMapRecords } from '#operator/management/stores/config-map-records';
import { group, installDefinitions, Stage } from './stage.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

describeWithCluster('the skills of a real cluster', (cluster) => {
  const apis: KubeApi[] = [];
  const namespaces: Namespace[] = [];
  const openApi = (): KubeApi => {
    const api = new KubeApi(connect(loadKubeConfig({ kubeconfig: cluster.kubeconfig })));
    apis.push(api);
    return api;
  };
  const makeNamespace = async (): Promise<Namespace> => {
    const made = await cluster.makeNamespace('skills');
    namespaces.push(made);
    return made;
  };
  afterAll(async () => {
    for (const namespace of namespaces) await namespace.delete();
    for (const api of apis) await api.close();
  });

  let only: string | undefined;
  clusterSkillsContract('ConfigMaps', async () => {
    only ??= (await makeNamespace()).name;
    const records = configMapRecords({ api: openApi(), namespace: only })('skills');
    for (const { name } of await records.list()) await records.delete(name);
    return records;
  });

  it('are of a namespace and for its groups, and stand in its ConfigMaps', async () => {
    await installDefinitions(cluster);
    const namespace = await makeNamespace();
    const other = await makeNamespace();
    await new Stage(cluster, namespace).apply(group('tools'));
    const place = {
      api: openApi(),
      apiGroup: 'vmcp.dev',
      environment: {},
      privateAddresses: false,
      version: '1.2.3',
      onFailure: () => undefined,
    };
    const rooms = clusterRooms(place);
    const caller = { name: 'test', check: () => Promise.resolve() };
    const request = { params: {}, query: {}, body: undefined, caller, signal: AbortSignal.timeout(20_000) };
    const archive = (await tgzOf([{ name: 'SKILL.md', text: skillText('notes') }])).toString('base64');
    const install = (group: string) =>
      installSkill.call({ ...request, body: { archive, group } }, rooms(namespace.name));
    await expect(install('none')).rejects.toMatchObject({ code: 'bad_request' });
    await install('tools');
    const list = async (name: string) => (await listSkills.call(request, rooms(name))).body;
    expect(await list(namespace.name)).toMatchObject({ skills: [{ metadata: { name: 'notes' } }] });
    expect(await list(other.name)).toEqual({ skills: [] });
    const path = `/api/v1/namespaces/${namespace.name}/configmaps?labelSelector=vmcp.dev/record%3Dskills`;
    const { body } = await cluster.ask('GET', path);
    expect(body.items).toHaveLength(1);
  });
});
