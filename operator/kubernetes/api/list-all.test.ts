import { expect, it } from '@jest/globals';
import { listAll } from './list-all.ts';
import type { KubeList, NextPage } from './read-page.ts';
import { CONFIG_MAPS } from './resources.ts';

const object = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const PAGES: KubeList[] = [
  { items: [object('a'), object('b')], resourceVersion: '1', next: { token: '1', limit: 250 }, weight: 10 },
  { items: [], resourceVersion: '1', next: { token: '2', limit: 500 }, weight: 10 },
  { items: [object('c')], resourceVersion: '1', next: undefined, weight: 10 },
];

it('listAll yields the objects of all pages, and requests no page without demand', async () => {
  const asked: (NextPage | undefined)[] = [];
  const list = (_resource: unknown, _selection: unknown, { next }: { next?: NextPage | undefined } = {}) => {
    asked.push(next);
    return Promise.resolve(
      PAGES[Number(next?.token ?? 0)] ?? { items: [], resourceVersion: '', next: undefined, weight: 10 },
    );
  };
  const names: string[] = [];
  for await (const { metadata } of listAll({ list }, CONFIG_MAPS, {})) names.push(metadata.name);
  expect([names, asked]).toEqual([
    ['a', 'b', 'c'],
    [undefined, PAGES[0]?.next, PAGES[1]?.next],
  ]);
  asked.length = 0;
  for await (const { metadata } of listAll({ list }, CONFIG_MAPS, {})) if (metadata.name === 'b') break;
  expect(asked).toEqual([undefined]);
});
