import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { configMapRecords } from '../stores/config-map-records.ts';
import { clusterServices } from './cluster-services.ts';
import { resumeClusterWork } from './resume-cluster-work.ts';

const OTHER = 'mcp.example.com';
const ID = '00000000-0000-4000-8000-000000000001';
const LEFT = {
  id: ID,
  type: 'delete',
  status: 'running',
  created_at: '2026-01-01T00:00:00.000Z',
  worked_at: 0,
  workloads: [{ name: 'notes', status: 'pending', identity: 'u-1' }],
};

describe('resumeClusterWork', () => {
  let server: ObjectServer;
  let api: KubeApi;
  beforeEach(async () => {
    server = await new ObjectServer().start();
    api = server.api();
  });
  afterEach(() => server.close());

  /** Starts a process for an API group and waits until its resumed operations end. */
  async function start(apiGroup: string): Promise<string[]> {
    const failures: string[] = [];
    const onFailure = (text: string) => void failures.push(text);
    const place = { api, streams: api, apiGroup, environment: {}, privateAddresses: true, version: '0', onFailure };
    const servicesOf = clusterServices(place);
    await resumeClusterWork({ api, apiGroup, watched: ['team'], servicesOf, onFailure });
    await servicesOf('team').operations.idle();
    await servicesOf('team').registries.close();
    return failures;
  }

  it('resumes an operation beside a damaged record', async () => {
    const records = configMapRecords({ api, namespace: 'team', apiGroup: DEFAULT_API_GROUP })('operations');
    const poison = '00000000-0000-4000-8000-000000000000';
    await records.create(poison, {});
    const [object] = [...server.calls].reverse().flatMap(({ method, body }) => (method === 'POST' ? [body] : []));
    const { metadata } = z.object({ metadata: z.looseObject({ name: z.string() }) }).parse(object);
    server.put(`/api/v1/namespaces/team/configmaps/${metadata.name}`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { 'record.json': '{' },
    });
    await records.create(ID, LEFT);
    expect(await start(DEFAULT_API_GROUP)).toEqual([expect.stringContaining(`operation ${poison} is not taken up`)]);
    expect((await records.get(ID))?.value).toMatchObject({ status: 'succeeded' });
  });

  it('resumes only operations of its own API group', async () => {
    const records = configMapRecords({ api, namespace: 'team', apiGroup: OTHER })('operations');
    await records.create(ID, LEFT);
    expect(await start(DEFAULT_API_GROUP)).toEqual([]);
    expect((await records.get(ID))?.value).toEqual(LEFT);
    expect(await start(OTHER)).toEqual([]);
    expect((await records.get(ID))?.value).toMatchObject({ status: 'succeeded' });
  });
});
