import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { KEY_KINDS } from '#cli/purge/own-keys';
import { makeHome, type OwnHome } from '#cli/testdata/own-home';
import { describeWithRedis } from '../redis/redis-programs.ts';
import { type RedisServer, startRedis } from '../redis/start-redis.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

// Reads vmcp purge's input from a real API server; the Redis is on this machine, as behind a forwarded port.

const API = '/apis/vmcp.dev/v1alpha1';
const keysBelow = (prefix: string) => KEY_KINDS.map((kind) => `${prefix}${kind}${kind.endsWith(':') ? 'a' : ''}`);

/** Other suites install other API groups at the same time. */
const TARGET = ['--api-group', 'vmcp.dev'];

describeWithCluster('vmcp purge in a cluster', (cluster) => {
  describeWithRedis('with a Redis', () => {
    let home: OwnHome;
    let namespace: Namespace;
    let redis: RedisServer;
    let folder: string;
    beforeAll(async () => {
      home = makeHome();
      redis = await startRedis({ lines: ['user all on >secret ~* +@all'] });
      namespace = await cluster.makeNamespace('purge');
      folder = mkdtempSync(join(tmpdir(), 'vmcp-purge-'));
    });
    afterAll(async () => {
      await namespace.delete();
      await redis.stop();
      home.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const purge = (...args: string[]) =>
      home.withoutFolder(['purge', ...args, ...TARGET, '--kubeconfig', cluster.kubeconfig, '-n', namespace.name]);
    const store = (keys: string[]) => redis.command('MSET', ...keys.flatMap((key) => [key, 'x']));
    const left = async () => ((await redis.command('KEYS', '*')) as string[]).sort();
    const put = async (
      plural: string,
      object: { metadata: { name: string; labels?: object }; [field: string]: unknown },
    ) => {
      const version = ['secrets', 'pods', 'serviceaccounts'].includes(plural) ? 'v1' : 'vmcp.dev/v1alpha1';
      const root = version === 'v1' ? '/api/v1' : API;
      const path = `${root}/namespaces/${namespace.name}/${plural}/${object.metadata.name}`;
      const { status, body } = await cluster.apply(path, { apiVersion: version, ...object });
      if (status >= 300) throw new Error(JSON.stringify(body));
      return path;
    };
    const server = (name: string, spec: object) => ({
      kind: 'VirtualMCPServer',
      metadata: { name },
      spec: { incomingAuth: { type: 'anonymous' }, config: { groupRef: 'dev' }, ...spec },
    });
    const user = {
      usernameSecretRef: { name: 'redis', key: 'user' },
      passwordSecretRef: { name: 'redis', key: 'password' },
    };
    const stored = (more: object = {}) => ({
      sessionStorage: { provider: 'redis', redis: { addr: redis.address, aclUserConfig: user, ...more } },
    });

    it('refuses while the resource exists; with force, it finds Redis and password by the resource', async () => {
      const own = keysBelow(`vmcp:${namespace.name}/tools:`);
      await store([...own, 'other']);
      await put('virtualmcpservers', server('tools', stored()));
      expect(await purge('tools', '--yes')).toMatchObject({ code: 7, err: expect.stringContaining('--force') });
      const without = await purge('tools', '--yes', '--force');
      expect(without).toMatchObject({ code: 1, err: expect.stringMatching(/redis\/\w+ is not there/) });
      await put('secrets', {
        kind: 'Secret',
        metadata: { name: 'redis' },
        stringData: { user: 'all', password: 'secret\n' },
      });
      const { code, err } = await purge('tools', '--yes', '--force');
      expect([code, err]).toEqual([0, expect.stringContaining(`deleted ${own.length} keys`)]);
      expect(await left()).toEqual(['other']);
    });

    it('refuses while pods of a deleted server still run', async () => {
      const labels = { 'app.kubernetes.io/name': 'vmcp-runtime', 'app.kubernetes.io/instance': 'ending' };
      await put('serviceaccounts', { kind: 'ServiceAccount', metadata: { name: 'ending' } });
      const path = await put('pods', {
        kind: 'Pod',
        metadata: { name: 'vmcp-ending-1', labels },
        // No node has this label, so the pod never starts.
        spec: {
          serviceAccountName: 'ending',
          nodeSelector: { never: 'here' },
          containers: [{ name: 'vmcp', image: 'none' }],
        },
      });
      const password = join(folder, 'password');
      writeFileSync(password, 'secret');
      const at = ['--redis-address', redis.address, '--username', 'all', '--password-file', password];
      await store(keysBelow(`vmcp:${namespace.name}/ending:`));
      expect(await purge('ending', '--yes', ...at)).toMatchObject({ code: 7, err: expect.stringContaining('pods') });
      expect((await cluster.ask('DELETE', `${path}?gracePeriodSeconds=0`)).status).toBe(200);
      expect((await purge('ending', '--yes', ...at)).code).toBe(0);
      expect(await left()).toEqual(['other']);
      expect(await purge('ending', '--yes')).toMatchObject({
        code: 6,
        err: expect.stringContaining('--redis-address'),
      });
    });

    it('explains how to reach a Redis inside of the cluster from outside', async () => {
      await put('virtualmcpservers', server('far', stored({ addr: 'redis.data.svc:6379' })));
      const said = await purge('far', '--dry-run');
      expect(said).toMatchObject({ code: 5, err: expect.stringContaining('-n data port-forward service/redis 6379') });
      expect(said.err).toContain('--redis-address 127.0.0.1:6379');
    });

    it('deletes nothing of a server of another namespace', async () => {
      const other = await cluster.makeNamespace('purge');
      try {
        const storage = stored({ keyPrefix: 'shared:' });
        const path = `${API}/namespaces/${other.name}/virtualmcpservers/tools`;
        const object = { apiVersion: 'vmcp.dev/v1alpha1', ...server('tools', storage) };
        expect((await cluster.apply(path, object)).status).toBe(201);
        await put('virtualmcpservers', server('tools', storage));
        await store(keysBelow('shared:'));
        const said = await purge('tools', '--yes', '--force');
        expect(said).toMatchObject({ code: 7, err: expect.stringContaining(`${other.name}/tools`) });
        expect(await left()).toEqual([...keysBelow('shared:'), 'other'].sort());
      } finally {
        await other.delete();
      }
    });
  });
});
