import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Log } from '#lib/log/log';
import type { KubeApi } from '../api/api.ts';
import { NamedValues } from './named-values.ts';
import type { KubeObject } from '../api/object.ts';
import { SECRETS } from '../api/resources.ts';
import { ObjectServer } from '../testdata/object-server.ts';
import { statusBody } from '../testdata/fake-api-server.ts';

const path = (name: string, namespace = 'ns') => `/api/v1/namespaces/${namespace}/secrets/${name}`;
const spec = (...names: string[]) => ({ hmacSecretRefs: names.map((name) => ({ name, key: 'k' })) });
const ignore = () => undefined;
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

let server: ObjectServer;
let api: KubeApi;
let values: NamedValues<unknown>;
beforeEach(async () => {
  server = await new ObjectServer().start();
  api = server.api();
  values = new NamedValues(api, SECRETS, { field: 'secrets', valueOf: ({ data }) => ({ value: data, bytes: 1 }), log });
});
afterEach(() => server.close());

/** Writes an object as a user, and reports it like the watch. */
function write(name: string, data: object, namespace = 'ns'): boolean {
  const { metadata } = server.put(path(name, namespace), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    data,
  });
  return values.told(metadata, true);
}
const reads = () => server.calls.filter(({ method }) => method === 'GET').length;

describe('NamedValues', () => {
  it('reads an object once per version, and only if a resource names it', async () => {
    expect(write('named', { k: '1' })).toBe(false);
    write('other', { k: '9' });
    values.refer('ns', 'VirtualMCPServer/demo', spec('named'));
    expect({ ...(await values.load('ns')) }).toEqual({ named: { k: '1' } });
    await values.load('ns');
    expect(reads()).toBe(1);
    expect(write('named', { k: '2' })).toBe(true);
    expect({ ...(await values.load('ns')) }).toEqual({ named: { k: '2' } });
    expect(reads()).toBe(2);
  });

  it('reads an object once for five hundred resources', async () => {
    write('shared', { k: '1' });
    for (let n = 0; n < 500; n++) values.refer('ns', `MCPServer/${n}`, spec('shared'));
    await values.load('ns');
    expect(reads()).toBe(1);
  });

  it('forgets an object with its last reference, and when it is deleted', async () => {
    write('a', { k: '1' });
    values.refer('ns', 'VirtualMCPServer/one', spec('a'));
    values.refer('ns', 'VirtualMCPServer/two', spec('a'));
    await values.load('ns');
    values.refer('ns', 'VirtualMCPServer/one', undefined);
    expect(values.get('ns', 'a')).toEqual({ k: '1' });
    values.refer('ns', 'VirtualMCPServer/two', spec());
    expect(values.get('ns', 'a')).toBeUndefined();
    values.refer('ns', 'VirtualMCPServer/two', spec('a'));
    await values.load('ns');
    expect(values.get('ns', 'a')).toEqual({ k: '1' });
    values.told({ name: 'a', namespace: 'ns' }, false);
    expect({ ...(await values.load('ns')) }).toEqual({});
  });

  it('reads an object again that changed during the read, before any caller gets it', async () => {
    write('a', { k: '1' });
    values.refer('ns', 'VirtualMCPServer/demo', spec('a'));
    const former = server.at(path('a'))!;
    server.nextAnswers.push({ status: 200, body: former });
    write('a', { k: '2' });
    expect({ ...(await values.load('ns')) }).toEqual({ a: { k: '2' } });
    expect(reads()).toBe(2);
  });

  it('ignores an older answer of another API server', async () => {
    write('a', { k: '1' });
    const former = server.at(path('a'))!;
    // The watch has not reported it yet.
    server.put(path('a'), { ...former, data: { k: '2' } });
    values.refer('ns', 'VirtualMCPServer/demo', spec('a'));
    expect({ ...(await values.load('ns')) }).toEqual({ a: { k: '2' } });
    server.nextAnswers.push({ status: 200, body: former });
    values.refer('ns', 'VirtualMCPServer/demo', { hmacSecretRefs: [{ name: 'a', key: 'other' }] });
    expect({ ...(await values.load('ns')) }).toEqual({ a: { k: '2' } });
    expect(reads()).toBe(2);
  });

  it('treats an unreadable object as missing, and reads the others', async () => {
    write('secret', { k: '1' });
    write('open', { k: '2' });
    values.refer('ns', 'VirtualMCPServer/demo', spec('secret', 'open'));
    server.nextAnswers.push({ status: 403, body: statusBody(403, 'Forbidden') });
    expect(Object.keys(await values.load('ns'))).toHaveLength(1);
  });

  it('treats an object beyond the limit of an answer as missing, and reads the others', async () => {
    write('long', { k: 'x'.repeat(13 * 1024 * 1024) });
    write('short', { k: '2' });
    values.refer('ns', 'VirtualMCPServer/demo', spec('long', 'short'));
    expect(Object.keys(await values.load('ns'))).toEqual(['short']);
  });

  it("refuses an object beyond the namespace's limit with the reason, and reads it when there is quota again", async () => {
    const valueOf = ({ data }: KubeObject) => ({ value: data, bytes: 3.5 * 1024 * 1024 });
    values = new NamedValues(api, SECRETS, { field: 'secrets', valueOf, log });
    for (const name of ['a', 'b', 'c']) {
      write(name, { k: '1' });
      values.refer('ns', `MCPServer/${name}`, spec(name));
    }
    const kept = Object.keys(await values.load('ns'));
    expect(kept).toHaveLength(2);
    const [[refused, why] = ['', '']] = Object.entries(values.refused('ns'));
    expect([...kept, refused].sort()).toEqual(['a', 'b', 'c']);
    expect(why).toMatch(/secrets .* of namespace "ns" .* exceed 8 MiB: name fewer/);
    await values.load('ns');
    expect(reads()).toBe(3);
    values.refer('ns', `MCPServer/${kept[0]}`, undefined);
    expect(Object.keys(await values.load('ns')).sort()).toEqual([kept[1], refused].sort());
    expect(Object.keys(values.refused('ns'))).toEqual([]);
  });

  it('refuses an object beyond the shared limit if its namespace holds much, and reads it when another holds less', async () => {
    const sizes = new Map<string, number>();
    const valueOf = ({ metadata, data }: KubeObject) => ({ value: data, bytes: sizes.get(metadata.name) ?? 0 });
    values = new NamedValues(api, SECRETS, { field: 'secrets', valueOf, log });
    const load = async (namespace: string, name: string, bytes: number) => {
      sizes.set(name, bytes);
      write(name, { k: '1' }, namespace);
      values.refer(namespace, `MCPServer/${name}`, spec(name));
      return Object.keys(await values.load(namespace)).join();
    };
    for (const [place, mib] of [
      ['a', 8],
      ['b', 8],
      ['c', 4],
    ] as const)
      expect(await load(place, `big-${place}`, mib * 2 ** 20)).toBe(`big-${place}`);
    expect(await load('e', 'large', 5 * 2 ** 20)).toBe('');
    expect(values.refused('e').large).toMatch(
      /secrets that resources of all namespaces name would exceed 20 MiB: name/,
    );
    // The shared quota is exhausted.
    expect(await load('e', 'small', 2 ** 18)).toBe('small');
    expect(await load('e', 'other', 2 ** 18 + 1)).toBe('small');
    values.refer('b', 'MCPServer/big-b', undefined);
    expect(Object.keys(await values.load('e')).sort()).toEqual(['large', 'other', 'small']);
  });

  it('does not count the former version of a changed object', async () => {
    const valueOf = ({ data }: KubeObject) => ({ value: data, bytes: 6 * 1024 * 1024 });
    values = new NamedValues(api, SECRETS, { field: 'secrets', valueOf, log });
    write('a', { k: '1' });
    values.refer('ns', 'MCPServer/a', spec('a'));
    await values.load('ns');
    write('a', { k: '2' });
    expect({ ...(await values.load('ns')) }).toEqual({ a: { k: '2' } });
  });

  it('reads a refused object again only when others hold less, and reports it once', async () => {
    let changes = 0;
    const valueOf = ({ metadata, data }: KubeObject) => ({
      value: data,
      bytes: (sizes.get(metadata.name) ?? 0) * 2 ** 19,
    });
    const sizes = new Map<string, number>();
    const warn = jest.fn<Log['warn']>();
    values = new NamedValues(api, SECRETS, { field: 'secrets', valueOf, log: { ...log, warn } });
    const load = async (name: string, mib: number) => {
      sizes.set(name, mib);
      write(name, { k: `${(changes += 1)}` });
      values.refer('ns', `MCPServer/${name}`, spec(name));
      const before = reads();
      const kept = Object.keys(await values.load('ns')).join();
      return [kept, reads() - before];
    };
    const told = () => warn.mock.calls.map(([, fields]) => fields);
    expect(await load('a', 8)).toEqual(['a', 1]);
    expect(await load('b', 10)).toEqual(['a', 1]);
    for (const mib of [8, 8, 9]) expect(await load('a', mib)).toEqual(['a', 1]);
    expect(await load('a', 7)).toEqual(['a', 2]);
    expect(told()).toMatchObject([{ name: 'b' }]);
    expect(await load('a', 17)).toEqual(['b', 2]);
    expect(told()).toMatchObject([{ name: 'b' }, { name: 'a' }]);
    expect(Object.keys(values.refused('ns'))).toEqual(['a']);
    expect(await load('b', 11)).toEqual(['b', 1]);
  });

  it('retries a failed read', async () => {
    write('a', { k: '1' });
    values.refer('ns', 'VirtualMCPServer/demo', spec('a'));
    server.nextAnswers.push({ status: 500, body: statusBody(500, 'InternalError') });
    await expect(values.load('ns')).rejects.toMatchObject({ status: 500 });
    expect({ ...(await values.load('ns')) }).toEqual({ a: { k: '1' } });
  });
});
