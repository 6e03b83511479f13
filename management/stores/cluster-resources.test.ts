import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ApiError } from '#operator/kubernetes/api/api-error';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { Groups } from '../groups/groups.ts';
import { clusterResources } from './cluster-resources.ts';
import { ListSemaphore } from './list-semaphore.ts';
import { identityOf, type Resources } from './resources.ts';

const PLACE = '/apis/vmcp.dev/v1alpha1/namespaces/team/mcpservers/search';
const object = (written: number) => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name: 'search', namespace: 'team', annotations: { written: String(written) } },
  spec: { remoteUrl: 'https://mcp.example.com/mcp' },
});

/** Another writer changes an object after each read. */
class RestlessServer extends ObjectServer {
  looks = 0;

  protected override serve(request: IncomingMessage, response: ServerResponse, text: string): void {
    if (this.isSilent) return;
    super.serve(request, response, text);
    if (request.method !== 'GET' || this.looks >= this.most) return;
    this.looks += 1;
    this.put(PLACE, object(this.looks));
  }

  isSilent = false;
  /** Maximum number of these changes. */
  most = Infinity;
}

let server: RestlessServer;
let resources: Resources;
beforeEach(async () => {
  server = await new RestlessServer().start();
  server.put(PLACE, object(0));
  resources = clusterResources({ api: server.api(), namespace: 'team', apiGroup: 'vmcp.dev' });
});
afterEach(() => server.close());

const wanted = { kind: 'MCPServer', name: 'search', labels: {}, annotations: {} } as const;
const WAYS: [string, () => Promise<unknown>][] = [
  ['replace', () => resources.replace({ ...wanted, spec: { remoteUrl: 'https://mcp.example.com/other' } })],
  ['delete', () => resources.delete('MCPServer', 'search')],
];

describe('clusterResources', () => {
  it.each(WAYS)('fails as busy when the object changes at each attempt: %s', async (_what, change) => {
    await expect(change()).rejects.toMatchObject({ code: 'busy', status: 409 });
    expect(server.looks).toBe(8);
    expect(server.at(PLACE)?.spec).toEqual(object(0).spec);
  });

  it('does not report a foreign owner when a conflict came with a concurrent change', async () => {
    server.most = 0;
    const api = server.api();
    jest.spyOn(api, 'apply').mockImplementationOnce(() => {
      server.put(PLACE, object(1));
      const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "other"' }];
      return Promise.reject(new ApiError('conflict', { status: 409, reason: 'Conflict', causes }));
    });
    const racing = clusterResources({ api, namespace: 'team', apiGroup: 'vmcp.dev' });
    await racing.replace({ ...wanted, spec: { remoteUrl: 'https://mcp.example.com/other' } });
    expect(server.at(PLACE)?.spec).toEqual({ remoteUrl: 'https://mcp.example.com/other' });
  });

  it('reports a foreign owner even when the status is written at each attempt', async () => {
    server.most = 0;
    const api = server.api();
    const apply = jest.spyOn(api, 'apply').mockImplementation(() => {
      server.put(PLACE, { ...object(0), status: { observedGeneration: apply.mock.calls.length } });
      const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "other"' }];
      return Promise.reject(new ApiError('conflict', { status: 409, reason: 'Conflict', causes }));
    });
    const racing = clusterResources({ api, namespace: 'team', apiGroup: 'vmcp.dev' });
    const change = racing.replace({ ...wanted, spec: { remoteUrl: 'https://mcp.example.com/other' } });
    await expect(change).rejects.toMatchObject({ code: 'conflict' });
    expect(apply).toHaveBeenCalledTimes(1);
  });

  it('limits one change to eight attempts, whatever changes meanwhile', async () => {
    server.most = 0;
    const api = server.api();
    const group = (changed: number, status: number) => ({
      apiVersion: 'vmcp.dev/v1alpha1',
      kind: 'MCPGroup',
      metadata: { name: 'tools', namespace: 'team', annotations: { changed: String(changed) } },
      spec: {},
      status: { observedGeneration: status },
    });
    const place = '/apis/vmcp.dev/v1alpha1/namespaces/team/mcpgroups/tools';
    server.put(place, group(0, 0));
    const apply = jest.spyOn(api, 'apply').mockImplementation(() => {
      const tries = apply.mock.calls.length;
      server.put(place, group(Math.floor(tries / 3), tries));
      return Promise.reject(new ApiError('changed', { status: 409, reason: 'Conflict' }));
    });
    const groups = new Groups(clusterResources({ api, namespace: 'team', apiGroup: 'vmcp.dev' }));
    await expect(groups.edit('tools', 'other', {})).rejects.toMatchObject({ code: 'busy' });
    // Two of them found the object changed before they wrote.
    expect(apply).toHaveBeenCalledTimes(6);
  });

  it.each(WAYS)('changes the object when it stops changing in time: %s', async (_what, change) => {
    server.most = 3;
    await change();
    expect(server.at(PLACE)?.spec).not.toEqual(object(0).spec);
  });

  it('writes neither an unchanged object nor one that its kind forbids', async () => {
    server.most = 0;
    const live = (await resources.get('MCPServer', 'search'))!;
    expect(await resources.replace(live)).toEqual(live);
    for (const refused of [
      () => resources.replace({ ...live, spec: { imgae: 'x' } }),
      () => resources.create({ ...wanted, name: 'new', spec: { imgae: 'x' } }),
    ])
      await expect(refused()).rejects.toMatchObject({ code: 'bad_request' });
    expect(server.writes()).toEqual([]);
  });

  it('does not delete another object that now has the name', async () => {
    server.most = 0;
    const former = identityOf((await resources.get('MCPServer', 'search'))!);
    server.remove(PLACE);
    server.put(PLACE, object(0));
    await expect(resources.delete('MCPServer', 'search', { identity: former })).rejects.toMatchObject({
      code: 'stale',
    });
    expect(server.writes()).toEqual([]);
  });

  it('lists all objects, over any number of pages', async () => {
    server.most = 0;
    for (let n = 0; n < 1200; n += 1) {
      const metadata = { name: `s${n}`, namespace: 'team' };
      server.put(PLACE.replace('search', `s${n}`), { ...object(0), metadata });
    }
    const names = (await resources.list('MCPServer')).map(({ name }) => name);
    expect([names.length, names[0], names.at(-1)]).toEqual([1201, 's0', 'search']);
  });

  it('lists once for concurrent callers, and reports a list that is too long', async () => {
    server.most = 0;
    const [first] = await Promise.all([resources.list('MCPServer'), resources.list('MCPServer')]);
    expect(first.map(({ name }) => name)).toEqual(['search']);
    expect(server.calls).toHaveLength(1);
    const later = resources.list('MCPServer');
    await new Promise(setImmediate);
    // These calls come during a read, which may have missed their changes.
    await Promise.all([later, ...Array.from({ length: 20 }, () => resources.list('MCPServer'))]);
    expect(server.calls).toHaveLength(3);
    const long = {
      ...object(0),
      metadata: { name: 'long', namespace: 'team' },
      spec: { image: 'x'.repeat(7_000_000) },
    };
    for (let at = 0; at < 5; at += 1) server.put(PLACE.replace('search', `long-${at}`), long);
    await expect(resources.list('MCPServer')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('MCPServer in namespace "team" takes more than 33554432 bytes'),
    });
  });

  it('lists within a deadline, lets a few lists wait, and rejects the others at once', async () => {
    server.most = 0;
    server.isSilent = true;
    const resourcesOf = (namespace: string, lists: ListSemaphore) =>
      clusterResources({ api: server.api(), apiGroup: 'vmcp.dev', namespace, lists });
    const lists = new ListSemaphore({ atOnce: 1, queue: 1, deadline: 300 });
    const listIn = (namespace: string) => resourcesOf(namespace, lists).list('MCPServer');
    const late = { code: 'unavailable', message: expect.stringContaining('are not listed: it took too long') };
    const full = { code: 'unavailable', message: expect.stringContaining('too many lists wait to be read') };
    await Promise.all([
      expect(listIn('team')).rejects.toMatchObject(late),
      expect(listIn('other')).rejects.toMatchObject(late),
      expect(listIn('third')).rejects.toMatchObject(full),
    ]);
    server.isSilent = false;
    expect(await resourcesOf('team', new ListSemaphore()).list('MCPServer')).toHaveLength(1);
  });
});
