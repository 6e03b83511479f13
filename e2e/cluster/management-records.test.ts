import { expect, it } from '@jest/globals';
import { Clients } from '#management/clients/clients';
import { kubernetesSecrets } from '#management/secrets/kubernetes-secrets';
import { clusterResources } from '#management/stores/cluster-resources';
import { configMapRecords } from '#management/stores/config-map-records';
import { recordStoreContract } from '#management/stores/contract/record-store.contract';
import { backend, group, installDefinitions, server, Stage } from './stage.ts';
import { useApis } from './use-apis.ts';
import { describeWithCluster } from './use-cluster.ts';

const VALUE = 'hunter2-the-value';
const base64 = (text: string) => Buffer.from(text).toString('base64');

describeWithCluster('the records of the management API in a cluster', (cluster) => {
  const { openApi, makeNamespace } = useApis(cluster, 'records');

  recordStoreContract('ConfigMaps of a real cluster', async () => {
    const { name: namespace } = await makeNamespace();
    const [api, other] = [openApi(), openApi()];
    return {
      one: configMapRecords({ api, namespace, apiGroup: 'vmcp.dev' }),
      two: configMapRecords({ api: other, namespace, apiGroup: 'vmcp.dev' }),
      elsewhere: configMapRecords({ api, namespace: (await makeNamespace()).name, apiGroup: 'vmcp.dev' }),
      async damage(name) {
        const path = `/api/v1/namespaces/${namespace}/configmaps/vmcp.clients.${name}`;
        const patch = { data: { 'record.json': '{"half' } };
        await cluster.ask('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });
      },
      close: () => undefined,
    };
  });

  it('store secrets in one labelled Secret, and lose no concurrent change', async () => {
    const { name: namespace } = await makeNamespace();
    const one = kubernetesSecrets({ api: openApi(), namespace, apiGroup: 'vmcp.dev' });
    const two = kubernetesSecrets({ api: openApi(), namespace, apiGroup: 'vmcp.dev' });
    const writes = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? one : two).create(`K${n}`, VALUE));
    await Promise.all(writes);
    await one.replace('K0', 'changed');
    await two.delete('K1');
    const keys = ['K0', 'K2', 'K3', 'K4', 'K5', 'K6', 'K7'];
    expect(await two.list()).toEqual({ type: 'kubernetes', keys });
    const { body } = await cluster.ask('GET', `/api/v1/namespaces/${namespace}/secrets/vmcp-secrets`);
    expect(body).toMatchObject({
      type: 'Opaque',
      metadata: { labels: { 'vmcp.dev/secrets-provider': 'true' } },
      data: { K0: base64('changed'), K2: base64(VALUE) },
    });
  });

  it('exclude a foreign Secret of that name from lists and writes', async () => {
    const { name: namespace } = await makeNamespace();
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    const theirs = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'vmcp-secrets' },
      stringData: { THEIRS: 'x' },
    };
    await cluster.ask('POST', path, theirs);
    const secrets = kubernetesSecrets({ api: openApi(), namespace, apiGroup: 'vmcp.dev' });
    await expect(secrets.list()).rejects.toMatchObject({ code: 'conflict' });
    await expect(secrets.create('A', VALUE)).rejects.toMatchObject({ code: 'conflict' });
    const { body } = await cluster.ask('GET', `${path}/vmcp-secrets`);
    expect(body.data).toEqual({ THEIRS: base64('x') });
  });

  it('give a registered client the text with the URLs of its groups', async () => {
    await installDefinitions(cluster);
    const made = await makeNamespace();
    const stage = new Stage(cluster, made);
    await stage.apply(group('tools'), backend('one', { remoteUrl: 'https://mcp.example.com/mcp', groupRef: 'tools' }));
    await stage.apply(server('demo', 'tools'));
    const url = 'https://tools.example.com/mcp';
    const path = `/apis/vmcp.dev/v1alpha1/namespaces/${made.name}/virtualmcpservers/demo/status`;
    await cluster.ask(
      'PATCH',
      path,
      { status: { phase: 'Ready', url, conditions: [] } },
      {
        'content-type': 'application/merge-patch+json',
      },
    );
    const api = openApi();
    const clients = new Clients({
      records: configMapRecords({ api, namespace: made.name, apiGroup: 'vmcp.dev' })('clients'),
      resources: clusterResources({ api, namespace: made.name, apiGroup: 'vmcp.dev' }),
      home: undefined,
    });
    const [registered] = await clients.register(['cursor'], ['tools'], false);
    expect(registered?.configuration).toMatchObject({ written: false, servers: { demo: url } });
    expect(JSON.parse(registered?.configuration.text ?? '')).toEqual({ mcpServers: { demo: { type: 'http', url } } });
    expect(await clients.list()).toEqual([{ name: 'cursor', groups: ['tools'] }]);
    await clients.delete('cursor');
    expect(await clients.list()).toEqual([]);
  });
});
