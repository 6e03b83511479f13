import { afterEach, describe, expect, it } from '@jest/globals';
import { clusterQuota, localQuota, RegistryMemory, type RegistryQuota } from './registry-quota.ts';
import { openRegistries } from './testdata/open-registries.ts';
import { serveRegistry } from './testdata/serve-registry.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const LONG = { description: 'x'.repeat(60_000), image: 'registry.example/one:1' };

/** Opens two namespaces whose registries list this number of long servers; `reads` counts the reads of the source. */
async function openTwo(servers: number, quotaOf: (namespace: string) => RegistryQuota) {
  let reads = 0;
  const registry = await serveRegistry((_request, response) => {
    reads += 1;
    const names = Array.from({ length: servers }, (_, at) => [`server-${at}`, LONG] as const);
    response.end(JSON.stringify({ servers: Object.fromEntries(names) }));
  });
  const open = async (namespace: string) => {
    const opened = await openRegistries({ quota: quotaOf(namespace) });
    closing.push(() => opened.close());
    return opened;
  };
  const [one, other] = [await open('one'), await open('other')];
  closing.push(() => registry.close());
  const settings = { url: `${registry.url}/r`, allow_private_ip: true };
  return { one, other, settings, reads: () => reads };
}

describe('RegistryQuota', () => {
  it('bounds the memory of all registries and reloads an evicted one from its copy', async () => {
    const memory = new RegistryMemory(10_000_000);
    const quota: RegistryQuota = { ...localQuota(), maxWeight: 10_000_000, memory };
    const { one, other, settings, reads } = await openTwo(50, () => quota);
    for (const { ask } of [one, other]) expect((await ask('PUT', '/registry/default', settings)).status).toBe(200);
    const get = async ({ ask }: typeof one) =>
      Object.keys((await ask('GET', '/registry/default')).body.registry.servers);
    for (const opened of [one, other, one, one]) expect(await get(opened)).toHaveLength(50);
    expect(reads()).toBe(2);
    const kept = one.registries;
    let isEvicted = false;
    memory.set({}, 9_000_000, () => (isEvicted = true));
    expect(isEvicted).toBe(false);
    expect(await kept.get('default')).toMatchObject({ registry: { server_count: 50 } });
    expect([isEvicted, reads()]).toEqual([true, 2]);
  });

  it('rejects a registry that exceeds the largest weight', async () => {
    const { one, settings } = await openTwo(300, clusterQuota());
    const { status, body } = await one.ask('PUT', '/registry/default', settings);
    expect([status, body.code, body.detail]).toEqual([
      502,
      'upstream_failed',
      expect.stringContaining('16777216 bytes'),
    ]);
  });

  it('limits reads in total and per namespace, and loads copies meanwhile', async () => {
    const quotaOf = clusterQuota();
    const held = Promise.withResolvers<undefined>();
    const begun: string[] = [];
    const read = (namespace: string, signal = new AbortController().signal) =>
      quotaOf(namespace).read(signal, async () => {
        begun.push(namespace);
        await held.promise;
      });
    const all = ['a', 'a', 'a', 'b', 'c', 'd'].map((namespace) => read(namespace));
    await expect(read('f', AbortSignal.timeout(50))).rejects.toMatchObject({ kind: 'timeout' });
    expect(begun).toEqual(['a', 'a', 'b', 'c']);
    const load = quotaOf('f').load(AbortSignal.timeout(50), () => Promise.resolve('its copy'));
    expect(await load).toBe('its copy');
    held.resolve(undefined);
    await Promise.all(all);
    expect([...begun].sort()).toEqual(['a', 'a', 'a', 'b', 'c', 'd']);
  });
});
