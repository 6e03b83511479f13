import type { IncomingMessage, ServerResponse } from 'node:http';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { CATEGORY, DEFAULT_API_GROUP } from '#crds/kinds/index';
import { FakeApiServer, statusBody } from '#operator/kubernetes/testdata/fake-api-server';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

const BASE = `/apis/${DEFAULT_API_GROUP}/v1alpha1`;
const NOW = '2026-01-02T03:04:05Z';
const INSIDE = 'http://vmcp-demo.team.svc:4483/mcp';
const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: NOW,
});

function serverCalled(name: string, status?: object) {
  return { metadata: { name, namespace: 'team', creationTimestamp: NOW }, spec: {}, status };
}

const READY = condition('Ready', 'True', 'Serving', 'It serves.');
const AWAY = 'nothing answers at http://mcp-far.team.svc:8080/mcp: see its pods';
const LOGIN = 'https://mcp.example.com/connections';
const DEMO = serverCalled('demo', {
  phase: 'Degraded',
  url: INSIDE,
  toolCount: 2,
  backends: [
    { name: 'near', phase: 'Ready', tools: 2, authType: 'none', message: '', lastTransitionTime: NOW },
    { name: 'far', phase: 'Unavailable', authType: 'none', message: AWAY, loginUrl: LOGIN, lastTransitionTime: NOW },
  ],
  conditions: [READY],
});
const PUBLIC = serverCalled('open', { phase: 'Ready', url: 'https://mcp.example.com/mcp', conditions: [READY] });
const WAITING = condition('Ready', 'False', 'NoPods', 'its image cannot be pulled: name another one');
const BACKENDS = ['near', 'far', 'alone'].map((name) =>
  serverCalled(name, { phase: name === 'near' ? 'Ready' : 'Pending', conditions: [WAITING] }),
);

/** A cluster with discovery and the objects of namespace team, by plural. */
class Cluster extends FakeApiServer {
  objects: Record<string, object[]> = {};
  /** Refused requests: path to status. */
  readonly refused = new Map<string, number>();

  protected override serve({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const [path = ''] = url.split('?');
    const code = this.refused.get(path);
    const body = code === undefined ? this.#at(path) : statusBody(code, 'Refused', `not by you: ${path}`);
    response.writeHead(code ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #at(path: string): object {
    const version = { groupVersion: `${DEFAULT_API_GROUP}/v1alpha1`, version: 'v1alpha1' };
    if (path === '/apis') return { groups: [{ name: DEFAULT_API_GROUP, versions: [version] }] };
    if (path === BASE) return { resources: [{ name: 'virtualmcpservers', categories: [CATEGORY] }] };
    const [plural = ''] = path.split('/').slice(-1);
    const items = path.startsWith(`${BASE}/namespaces/team/`) ? (this.objects[plural] ?? []) : [];
    return { apiVersion: version.groupVersion, kind: 'AnyList', metadata: {}, items };
  }
}

let cluster: Cluster;
let home: OwnHome;
let kubeconfig: string;
beforeEach(async () => {
  cluster = await new Cluster().start();
  cluster.objects = { virtualmcpservers: [DEMO, PUBLIC], mcpservers: BACKENDS };
  home = makeHome();
  kubeconfig = join(home.path, 'kubeconfig');
  const clusters = [{ name: 'one', cluster: { server: cluster.url, 'insecure-skip-tls-verify': true } }];
  const contexts = [{ name: 'prod', context: { cluster: 'one', user: 'somebody', namespace: 'team' } }];
  const users = [{ name: 'somebody', user: { token: 'a-token' } }];
  writeFileSync(kubeconfig, stringify({ apiVersion: 'v1', kind: 'Config', clusters, users, contexts }));
});
afterEach(async () => {
  home.close();
  await cluster.close();
});

const vmcp = (...args: string[]) => home.withoutFolder([...args, '--kubeconfig', kubeconfig, '--context', 'prod']);
const clientFile = () => join(home.path, '.cursor/mcp.json');

describe('vmcp status of a cluster', () => {
  it('shows endpoints with backends and their faults, and servers without an endpoint', async () => {
    const { code, out, err } = await vmcp('status');
    expect([code, err]).toEqual([3, '']);
    expect(out).toMatch(new RegExp(`^demo  Degraded  ${INSIDE}  2 tools$`, 'm'));
    expect(out).toMatch(/^ {2}near +Ready +2 +none$/m);
    expect(out).toContain(`Unavailable  -      none  ${AWAY}`);
    // vmcp login supports only servers on this machine.
    expect(out).toContain(`\n  ! log in at far: open ${LOGIN}\n`);
    expect(out).toMatch(/^open {2}Ready {2}https:\/\/mcp\.example\.com\/mcp$/m);
    expect(out).toContain(`MCPServer/alone  Pending\n  ! NoPods: ${WAITING.message}`);
    expect(out).not.toMatch(/MCPServer\/(near|far)/);
  });

  it('shows a named endpoint, also for programs, and exits with its code', async () => {
    const { code, out } = await vmcp('status', 'demo', '-o', 'json');
    const told = JSON.parse(out) as { backends: object[]; servers: { name: string }[] };
    expect([code, told.servers.map(({ name }) => name)]).toEqual([0, ['demo', 'open', 'alone']]);
    expect(told).toMatchObject({ name: 'demo', namespace: 'team', endpoint: INSIDE });
    expect(told.backends[1]).toMatchObject({ name: 'far', phase: 'Unavailable', message: AWAY });
    expect(parse((await vmcp('status', 'open', '-o', 'yaml')).out)).toMatchObject({ name: 'open', phase: 'Ready' });
    expect((await vmcp('status', '-o', 'name')).out).toBe('demo\nopen\nMCPServer/alone\n');
    expect(await vmcp('status', 'none')).toMatchObject({
      code: 6,
      err: expect.stringContaining('there is: demo, open'),
    });
  });

  it('reports a server without an operator status, and an empty namespace', async () => {
    cluster.objects = { virtualmcpservers: [serverCalled('new')] };
    const told = await vmcp('status');
    expect(told).toMatchObject({ code: 3, out: expect.stringContaining('new  Pending\n  ! NotSeen: no operator') });
    expect(await vmcp('status', '-n', 'empty')).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringMatching(/no MCPServer in namespace empty: .*vmcp run '<source>'.* --context prod/),
    });
  });

  it.each([
    [403, 8, 'kubectl auth can-i --list -n team'],
    [404, 3, 'vmcp is not installed in http'],
  ])('prints the remedy when the API server answers %i', async (status, code, said) => {
    cluster.refused.set(`${BASE}/namespaces/team/virtualmcpservers`, status);
    expect(await vmcp('status')).toMatchObject({ code, out: '', err: expect.stringContaining(said) });
  });
});

describe('commands for the endpoint of a cluster', () => {
  it('write its public URL into client configurations', async () => {
    expect(await vmcp('connect', 'cursor', '--server', 'open', '--write')).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(clientFile(), 'utf8'))).toMatchObject({
      mcpServers: { open: { url: 'https://mcp.example.com/mcp' } },
    });
    const listed = await vmcp('connect', '--server', 'open', '-o', 'json');
    expect(JSON.parse(listed.out)).toContainEqual(expect.objectContaining({ client: 'cursor', state: 'connected' }));
  });

  it.each([['connect', 'cursor', '--write'], ['try', '--no-browser'], ['doctor']])(
    'reject %s for an endpoint that only pods reach, and print the remedy',
    async (...args) => {
      const { code, out, err } = await vmcp(...args);
      expect([code, out]).toEqual([1, '']);
      const forward = `kubectl --kubeconfig ${kubeconfig} --context prod -n team port-forward service/vmcp-demo 4483`;
      expect(err).toContain(`VirtualMCPServer "demo" is at ${INSIDE}, which only pods of the cluster can reach`);
      expect(err).toContain('incomingAuth.resourceUrl');
      expect(err).toContain(`"${forward}" beside this, and name http://127.0.0.1:4483/mcp`);
      expect(existsSync(clientFile())).toBe(false);
    },
  );

  it('report a missing URL', async () => {
    cluster.objects = { virtualmcpservers: [serverCalled('new')] };
    expect(await vmcp('connect', 'cursor')).toMatchObject({
      code: 3,
      err: expect.stringMatching(/VirtualMCPServer "new" has no endpoint yet: see "vmcp status .*--context prod/),
    });
  });

  it.each([
    ['connect', 'cursor', '--url', 'https://a.example/mcp'],
    ['try', 'https://a.example/mcp'],
    ['doctor', 'https://a.example/mcp'],
    ['doctor', 'https://a.example/mcp', '--server', 'open'],
  ])('reject %s, which names two endpoints', async (...args) => {
    expect(await vmcp(...args)).toMatchObject({ code: 2, out: '' });
  });

  it('reject an API group without a cluster', async () => {
    const told = await home.withoutFolder(['status', '--api-group', 'mcp.example.com']);
    expect(told).toMatchObject({ code: 1, err: expect.stringContaining('--context') });
  });
});
