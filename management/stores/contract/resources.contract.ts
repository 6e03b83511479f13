import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identityOf, type Resources, type WantedResource } from '../resources.ts';

/** The resources of an empty namespace, for two clients. */
export interface ResourcesUnderTest {
  one: Resources;
  two: Resources;
  /** Resources of another namespace. */
  elsewhere: Resources;
  close(): void | Promise<void>;
}

const server = (name: string, spec: Record<string, unknown> = {}): WantedResource => ({
  kind: 'MCPServer',
  name,
  labels: {},
  annotations: {},
  spec: { image: 'example/x:1', transport: 'streamable-http', ...spec },
});

/** Tests every implementation of Resources. */
export function resourcesContract(what: string, open: () => ResourcesUnderTest | Promise<ResourcesUnderTest>): void {
  describe(`resources in ${what}`, () => {
    let under: ResourcesUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(() => under.close());

    it('creates resources, finds them by kind and name in their namespace, and lists them by name', async () => {
      const { one, two, elsewhere } = under;
      expect(await one.list('MCPServer')).toEqual([]);
      expect(await one.get('MCPServer', 'b')).toBeUndefined();
      const made = await one.create({
        ...server('b', { path: '/x' }),
        labels: { tier: 'one' },
        annotations: { note: 'n' },
      });
      expect(made).toMatchObject({
        kind: 'MCPServer',
        name: 'b',
        labels: { tier: 'one' },
        spec: { image: 'example/x:1', transport: 'streamable-http', path: '/x' },
      });
      expect(made.annotations).toMatchObject({ note: 'n' });
      expect(Date.parse(made.createdAt ?? '')).toBeGreaterThan(Date.now() - 60_000);
      await two.create(server('a'));
      expect((await two.list('MCPServer')).map(({ name }) => name)).toEqual(['a', 'b']);
      expect(await two.get('MCPServer', 'b')).toMatchObject({ version: made.version });
      expect(await two.list('MCPGroup')).toEqual([]);
      expect(await elsewhere.get('MCPServer', 'b')).toBeUndefined();
    });

    it('rejects a name that exists, and a violation of the kind’s schema', async () => {
      const { one } = under;
      await expect(one.create(server('a'))).rejects.toMatchObject({ code: 'already_exists' });
      await expect(one.create(server('A_b'))).rejects.toMatchObject({ code: 'bad_request' });
      await expect(one.create(server('c', { imgae: 'x' }))).rejects.toMatchObject({
        code: 'bad_request',
        message: expect.stringContaining('did you mean `image`'),
      });
      await expect(one.create(server('c', { remoteUrl: 'https://x.example' }))).rejects.toMatchObject({
        code: 'bad_request',
      });
      expect(await one.get('MCPServer', 'c')).toBeUndefined();
    });

    it('keeps the version without a change, and changes it with each change', async () => {
      const { one, two } = under;
      const before = (await one.get('MCPServer', 'b'))!;
      expect(await two.replace(before)).toMatchObject({ version: before.version, spec: before.spec });
      const after = await two.replace({ ...before, spec: { ...before.spec, path: '/y' } });
      expect(after.spec.path).toBe('/y');
      expect(after.version).not.toBe(before.version);
      expect((await one.get('MCPServer', 'b'))?.version).toBe(after.version);
    });

    it('removes fields, labels and annotations that are no longer wanted', async () => {
      const { one } = under;
      const before = (await one.get('MCPServer', 'b'))!;
      const { image, transport } = before.spec;
      const annotations = Object.fromEntries(Object.entries(before.annotations).filter(([name]) => name !== 'note'));
      const after = await one.replace({ ...before, labels: {}, annotations, spec: { image, transport } });
      expect(after.spec).toMatchObject({ image: 'example/x:1', transport: 'streamable-http' });
      expect(after.spec).not.toHaveProperty('path');
      expect(after.labels.tier).toBeUndefined();
      expect(after.annotations.note).toBeUndefined();
    });

    it('changes only the version that was read, on request', async () => {
      const { one, two } = under;
      const read = (await one.get('MCPServer', 'b'))!;
      await two.replace({ ...read, spec: { ...read.spec, path: '/two' } }, { expected: [read.version] });
      await expect(
        one.replace({ ...read, spec: { ...read.spec, path: '/one' } }, { expected: [read.version] }),
      ).rejects.toMatchObject({ code: 'stale' });
      await expect(one.delete('MCPServer', 'b', { expected: [read.version] })).rejects.toMatchObject({ code: 'stale' });
      expect((await one.get('MCPServer', 'b'))?.spec.path).toBe('/two');
    });

    it('deletes only the resource that was meant, on request', async () => {
      const { one, two } = under;
      const former = await one.create(server('again'));
      expect(await one.delete('MCPServer', 'again', { identity: identityOf(former) })).toBe(true);
      // In a folder, only the creation time distinguishes the two.
      while (Date.now() <= Date.parse(former.createdAt ?? '')) await new Promise((resolve) => setImmediate(resolve));
      const later = await two.create(server('again'));
      const meant = { expected: [later.version], identity: identityOf(former) };
      await expect(one.delete('MCPServer', 'again', meant)).rejects.toMatchObject({ code: 'stale' });
      expect(await one.delete('MCPServer', 'again', { ...meant, identity: identityOf(later) })).toBe(true);
    });

    it('loses no change of several clients that each change the version that they read', async () => {
      const { one, two } = under;
      await one.create(server('many', { toolsFilter: [] }));
      const add = async (resources: Resources, tool: string): Promise<void> => {
        for (;;) {
          const read = (await resources.get('MCPServer', 'many'))!;
          const spec = { ...read.spec, toolsFilter: [...(read.spec.toolsFilter as string[]), tool] };
          try {
            await resources.replace({ ...read, spec }, { expected: [read.version] });
            return;
          } catch (problem) {
            expect(problem).toMatchObject({ code: 'stale' });
          }
        }
      };
      const tools = Array.from({ length: 12 }, (_, index) => `tool-${index}`);
      await Promise.all(tools.map((tool, index) => add(index % 2 === 0 ? one : two, tool)));
      const { toolsFilter } = (await one.get('MCPServer', 'many'))!.spec;
      expect((toolsFilter as string[]).sort()).toEqual([...tools].sort());
    });

    it('rejects a change of a missing resource, or one that violates the schema', async () => {
      const { one } = under;
      await expect(one.replace(server('gone'))).rejects.toMatchObject({ code: 'not_found' });
      const before = (await one.get('MCPServer', 'b'))!;
      await expect(one.replace({ ...before, spec: { image: 7 } })).rejects.toMatchObject({ code: 'bad_request' });
      expect(await one.get('MCPServer', 'b')).toEqual(before);
    });

    it('deletes a resource once', async () => {
      const { one, two } = under;
      expect(await one.delete('MCPServer', 'a')).toBe(true);
      expect(await two.delete('MCPServer', 'a')).toBe(false);
      expect((await two.list('MCPServer')).map(({ name }) => name)).toEqual(['b', 'many']);
    });
  });
}
