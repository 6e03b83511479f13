import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { Manifest } from '#operator/snapshot';
import type { KubeApi } from '../api/api.ts';
import { ObjectServer } from '../testdata/object-server.ts';
import { completeSnapshot, fewAtOnce } from './complete-snapshot.ts';

const SNAPSHOT = emptySnapshot({
  namespace: 'team',
  platform: { mode: 'cluster', runtimeImage: 'vmcp-runtime:1', allowHostPaths: false },
});
const naming = (...names: string[]): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name: 'a', namespace: 'team' },
  spec: { image: 'x', secrets: names.map((name) => ({ name, key: 'k', targetEnvName: name.toUpperCase() })) },
});

describe('completeSnapshot', () => {
  let server: ObjectServer;
  let api: KubeApi;
  beforeEach(async () => {
    server = await new ObjectServer().start();
    api = server.api();
  });
  afterEach(() => server.close());

  it('adds the existing Secrets that only the new resource names, by their keys', async () => {
    const path = '/api/v1/namespaces/team/secrets/known';
    const metadata = { name: 'known', namespace: 'team' };
    server.put(path, { apiVersion: 'v1', kind: 'Secret', metadata, data: { k: 'c2VjcmV0' } });
    const signal = new AbortController().signal;
    const { secrets } = await completeSnapshot(naming('known', 'missing', 'constructor'), SNAPSHOT, api, signal);
    expect(secrets).toEqual({ known: { k: '0'.repeat(16) } });
    expect([secrets.constructor, secrets.missing]).toEqual([undefined, undefined]);
  });

  it('adds at most 2 MiB of newly named objects, and reports the others without reading them', async () => {
    const metadata = (name: string) => ({ name, namespace: 'team' });
    for (let at = 0; at < 30; at += 1) {
      const object = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: metadata(`c-${at}`),
        data: { k: 'x'.repeat(900_000) },
      };
      server.put(`/api/v1/namespaces/team/configmaps/c-${at}`, object);
    }
    const refs = Array.from({ length: 30 }, (_, at) => ({ configMapRef: { name: `c-${at}`, key: 'k' } }));
    const manifest = { ...naming(), spec: { refs } };
    const { configMaps, refused } = await completeSnapshot(manifest, SNAPSHOT, api, new AbortController().signal);
    expect(Object.keys(configMaps)).toHaveLength(2);
    expect(Object.keys(refused?.configMaps ?? {})).toHaveLength(28);
    expect(refused?.configMaps['c-29']).toContain('reads 2 MiB');
    expect(server.calls).toHaveLength(8);
  });

  it('reads a few objects at a time for all reviews together', async () => {
    let [open, most] = [0, 0];
    const slow: Pick<KubeApi, 'get'> = {
      async get(...asked: Parameters<KubeApi['get']>) {
        most = Math.max(most, (open += 1));
        try {
          return await api.get(...asked);
        } finally {
          open -= 1;
        }
      },
    };
    const names = Array.from({ length: 30 }, (_, number) => `s-${number}`);
    const few = fewAtOnce(slow);
    const review = () => completeSnapshot(naming(...names), SNAPSHOT, few, new AbortController().signal);
    await Promise.all([review(), review(), review()]);
    expect(most).toBe(8);
  });
});
