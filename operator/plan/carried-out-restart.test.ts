import { describe, expect, it } from '@jest/globals';
import { MCPServer } from '#crds/kinds/index';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { Manifest, Snapshot } from '#operator/snapshot';
import { carriedOutRestart } from './carried-out-restart.ts';
import { plan } from './plan.ts';
import { readSpec } from './read-resource.ts';
import { writeText } from '../yaml-text.ts';

const FORMER = '2026-01-01T00:00:00Z';
const AT = '2026-01-01T00:00:01Z';
const LOCAL: Snapshot['platform'] = {
  mode: 'local',
  directory: '/x',
  ports: {},
  backendPorts: {},
  uids: {},
  loginDirectory: '/x/logins',
};
const STDIO = { command: ['node', 'a.js'] };
const HTTP = { command: ['node', 'a.js'], transport: 'streamable-http' };
const REMOTE = { remoteUrl: 'https://far.example/mcp' };
const front: Manifest = {
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'VirtualMCPServer',
  metadata: { name: 'front', namespace: 'default' },
};

const serving = (backend: string, at?: string) =>
  writeText({ backends: [{ name: backend, transport: 'stdio', ...(at === undefined ? {} : { restarted_at: at }) }] });
const seen = (current: boolean, restartedAt?: string): Snapshot['observed'][string] => ({
  current,
  restartedAt,
  ready: true,
  tools: 1,
  backends: [],
  warnings: [],
  auth_server: null,
});

function restarted(spec: object, at = AT): Manifest {
  return {
    apiVersion: 'vmcp.dev/v1alpha1',
    kind: 'MCPServer',
    metadata: {
      name: 'a',
      namespace: 'default',
      ...(at === '' ? {} : { annotations: { 'vmcp.dev/restarted-at': at } }),
    },
    spec,
    status: { restartedAt: FORMER },
  };
}

function carriedOut(spec: object, snapshot: Partial<Snapshot> = {}, at = AT): string | undefined {
  const manifest = restarted(spec, at);
  const full = emptySnapshot({ platform: LOCAL, virtualMcpServers: { front }, ...snapshot });
  return carriedOutRestart(manifest, readSpec(MCPServer, manifest), full);
}

describe('carriedOutRestart on one machine', () => {
  it('reports a restart of a stdio program when the server that starts it has taken it over', () => {
    const documents = { front: serving('a', AT) };
    expect(carriedOut(STDIO, { documents: { front: serving('a', FORMER) }, observed: { front: seen(true) } })).toBe(
      FORMER,
    );
    expect(carriedOut(STDIO, { documents: { front: serving('a') }, observed: { front: seen(true) } })).toBe(FORMER);
    expect(carriedOut(STDIO, { documents, observed: { front: seen(false) } })).toBe(FORMER);
    expect(carriedOut(STDIO, { documents })).toBe(FORMER);
    expect(carriedOut(STDIO, { documents, observed: { front: seen(true) } })).toBe(AT);
  });

  it('ignores servers that serve a former document until they are repaired', () => {
    const documents = { front: serving('a', AT), stuck: serving('a', FORMER) };
    const observed = { front: seen(true), stuck: seen(true) };
    const stuck = (type: string, generation: number): Manifest => ({
      ...front,
      metadata: { name: 'stuck', namespace: 'default', generation },
      status: { observedGeneration: 2, conditions: [{ type, status: 'True' }] },
    });
    const behind = (server: Manifest, known: Partial<Snapshot> = {}) =>
      carriedOut(STDIO, { documents, observed, virtualMcpServers: { front, stuck: server }, ...known });
    expect(behind(stuck('Stalled', 2))).toBe(AT);
    expect(behind(stuck('Stalled', 2), { observed: { ...observed, front: seen(false) } })).toBe(FORMER);
    // This server waits, or has changed since, and may take the restart over.
    expect(behind(stuck('Waiting', 2))).toBe(FORMER);
    expect(behind(stuck('Stalled', 3))).toBe(FORMER);
  });

  it('looks again until the restart is carried out, as a server that becomes Stalled is no change', () => {
    const key = { kind: 'MCPServer', namespace: 'default', name: 'a' } as const;
    const againOf = (manifest: Manifest, observed: Snapshot['observed']) => {
      const known = { virtualMcpServers: { front }, documents: { front: serving('a', AT) }, observed };
      const snapshot = emptySnapshot({ platform: LOCAL, mcpServers: { a: manifest }, ...known });
      return plan(key, snapshot, AT).requeueAfter;
    };
    expect(againOf(restarted(STDIO), { front: seen(false) })).toBe(5000);
    expect(againOf(restarted(STDIO), { front: seen(true) })).toBeUndefined();
    expect(againOf(restarted(STDIO, ''), { front: seen(false) })).toBeUndefined();
    expect(againOf(restarted({ ...STDIO, suspend: true }), { front: seen(false) })).toBeUndefined();
  });

  it('reports a program without a server, a process of its own and a remote backend with its plan', () => {
    expect(carriedOut(STDIO)).toBe(AT);
    expect(carriedOut(STDIO, { documents: { front: serving('another-a') } })).toBe(AT);
    expect(carriedOut(HTTP)).toBe(AT);
    expect(carriedOut(REMOTE)).toBe(AT);
  });

  it('reports an own endpoint when the process that answers has restarted', () => {
    const spec = { ...HTTP, proxyMode: 'streamable-http' };
    expect(carriedOut(spec)).toBe(FORMER);
    expect(carriedOut(spec, { observed: { 'MCPServer/a': seen(true, FORMER) } })).toBe(FORMER);
    expect(carriedOut(spec, { observed: { 'MCPServer/a': seen(true, AT) } })).toBe(AT);
  });

  it('reports no restart while the backend is stopped', () => {
    expect(carriedOut({ ...HTTP, suspend: true })).toBe(FORMER);
  });
});

describe('carriedOutRestart in a cluster', () => {
  const CLUSTER: Snapshot['platform'] = { mode: 'cluster', runtimeImage: 'x', allowHostPaths: false };
  const pods = (complete: boolean, restartedAt: string) => ({ replicas: 1, readyReplicas: 1, complete, restartedAt });
  const inCluster = (spec: object, deployments: Snapshot['deployments'] = {}) =>
    carriedOut(spec, { platform: CLUSTER, deployments });

  it('reports a restart when all pods have the new template, those of the own endpoint too', () => {
    const image = { image: 'x' };
    const both = { ...image, proxyMode: 'streamable-http' };
    expect(inCluster(image)).toBe(FORMER);
    expect(inCluster(image, { 'mcp-a': pods(true, FORMER) })).toBe(FORMER);
    expect(inCluster(image, { 'mcp-a': pods(false, AT) })).toBe(FORMER);
    expect(inCluster(image, { 'mcp-a': pods(true, AT) })).toBe(AT);
    expect(inCluster(both, { 'mcp-a': pods(true, AT) })).toBe(FORMER);
    expect(inCluster(both, { 'mcp-a': pods(true, AT), 'mcp-a-proxy': pods(true, AT) })).toBe(AT);
  });

  it('keeps it while pods change for another reason, and reports none if none was requested', () => {
    expect(carriedOut({ image: 'x' }, { platform: CLUSTER }, FORMER)).toBe(FORMER);
    expect(carriedOut({ image: 'x' }, { platform: CLUSTER }, '')).toBeUndefined();
  });
});
