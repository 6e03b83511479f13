import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BASE } from '#management/base';
import { NO_PATHS, OUTSIDE, requestsWith } from '../management/leading-outside.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useManagement } from './use-management.ts';

/** Names that lead to another namespace, if inserted into a path of the API server. */
const ELSEWHERE: ((namespace: string) => string)[] = [
  (namespace) => `../../${namespace}/mcpservers/victim`,
  (namespace) => `../../../../../../api/v1/namespaces/${namespace}/secrets/vmcp-secrets`,
  (namespace) => `victim?namespace=${namespace}`,
  (namespace) => `victim&namespace=${namespace}`,
  (namespace) => `${namespace}/victim`,
  () => 'victim#',
  () => 'victim/status',
  () => 'victim?fieldManager=other&force=true',
  () => '%2e%2e%2fvictim',
  () => '..;/victim',
  () => '*',
];

/** Unknown paths with various encodings, and paths of the API server. */
const MORE_PATHS = [
  `${BASE}/%2e%2e/v1beta/version`,
  `${BASE}/clients/..;/version`,
  `${BASE}/version/`,
  `${BASE}/version%00`,
  '/API/v1beta/version',
  '/apis/vmcp.dev/v1alpha1/mcpservers',
  '/api/v1/secrets',
  '/metrics',
];
const UNREADABLE = [`${BASE}/groups/%ff`, `${BASE}/groups/%`, `${BASE}/groups/%c0%ae%c0%ae`, `${BASE}/groups/%zz`];

interface ObjectList {
  items: {
    metadata: { name: string; uid: string; generation?: number; resourceVersion: string; annotations?: object };
  }[];
}

describeWithCluster('the management API in a cluster, given names and paths that lead elsewhere,', (cluster) => {
  const stage = useManagement(cluster, 'management-attacks');
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  afterAll(() => agent.destroy());

  beforeAll(async () => {
    const theirs = { as: 'neighbour', namespace: stage.otherNamespace } as const;
    for (const how of [{}, theirs])
      for (const [path, body] of [
        ['/groups', { name: 'victim' }],
        ['/workloads', { name: 'victim', url: 'https://mcp.example.com/mcp' }],
        ['/secrets/default/keys', { key: 'VICTIM', value: 'hunter2-of-the-victim' }],
        ['/clients', { name: 'cursor', groups: [] }],
      ] as const)
        expect([path, (await stage.ask('POST', path, { ...how, body })).status < 300]).toEqual([path, true]);
  }, 60_000);

  /** Sends the path unchanged, as a URL would normalise it. */
  async function asWritten(method: string, path: string, body?: unknown): Promise<[number, string]> {
    const headers = stage.headersOf({ ...(body !== undefined && { body }) });
    const signal = AbortSignal.timeout(20_000);
    const asking = request({ ...stage.place, agent, method, path, headers, signal });
    asking.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    return [answer.statusCode ?? 0, await text(answer)];
  }

  /**
   * Returns all objects that the API writes, in both namespaces, with the versions that its changes increase. Status
   * writes are the operator's.
   */
  async function stored(): Promise<string[]> {
    const found: string[] = [];
    for (const namespace of [stage.namespace, stage.otherNamespace])
      for (const collection of [
        `/api/v1/namespaces/${namespace}/configmaps`,
        `/api/v1/namespaces/${namespace}/secrets`,
        `/apis/vmcp.dev/v1alpha1/namespaces/${namespace}/mcpservers`,
        `/apis/vmcp.dev/v1alpha1/namespaces/${namespace}/mcpgroups`,
      ]) {
        const { items } = (await cluster.ask('GET', collection)).body as ObjectList;
        for (const { metadata } of items) {
          const { name, uid, generation, resourceVersion, annotations } = metadata;
          found.push(`${collection}/${name} ${uid} ${generation ?? resourceVersion} ${JSON.stringify(annotations)}`);
        }
      }
    return found.sort();
  }

  // `-rf` is no option of any program here, and a valid key of a Secret.
  const outside = OUTSIDE.filter((name) => name !== '-rf').map((name) => () => name);
  const names = [...outside, ...ELSEWHERE];
  it.each(names.map((nameOf) => [nameOf('other'), nameOf] as const))(
    'refuses, reads nothing and writes nothing: %j',
    async (_shown, nameOf) => {
      const before = await stored();
      for (const [method, path, body] of requestsWith(nameOf(stage.otherNamespace))) {
        const whole = `${BASE}${path}${path.includes('?') ? '' : `?namespace=${stage.namespace}`}`;
        const [status, said] = await asWritten(method, whole, body);
        expect([method, path, [400, 404, 405].includes(status) ? 'refused' : status]).toEqual([
          method,
          path,
          'refused',
        ]);
        expect([said.includes('hunter2'), said.includes('root:')]).toEqual([false, false]);
      }
      expect(await stored()).toEqual(before);
    },
    60_000,
  );

  it('routes to no other path of the server, and to none of the API server', async () => {
    for (const path of [...NO_PATHS, ...MORE_PATHS])
      expect([path, (await asWritten('GET', path))[0]]).toEqual([path, 404]);
    for (const path of UNREADABLE) expect([path, (await asWritten('GET', path))[0]]).toEqual([path, 400]);
    // This is a name, for which there is another method.
    expect((await asWritten('GET', `${BASE}/clients/..%2fversion`))[0]).toBe(405);
    expect((await asWritten('GET', `https://evil.example${BASE}/version`))[0]).toBe(400);
    expect((await asWritten('GET', `${BASE}/version`))[0]).toBe(200);
  });
});
