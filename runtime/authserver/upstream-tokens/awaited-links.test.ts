import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AwaitedLinks } from './awaited-links.ts';
import { createSetup, type Setup } from './testdata/setup.ts';

let setup: Setup;
let linked: string[];
let awaited: AwaitedLinks;
beforeEach(() => {
  setup = createSetup();
  linked = [];
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  awaited = new AwaitedLinks({ storage: setup.storage, now: () => setup.clock, log }, (sub) => {
    linked.push(sub);
    awaited.forget(sub);
  });
});
afterEach(() => {
  awaited.close();
  setup.close();
});

describe('AwaitedLinks', () => {
  it('reports once a link that the browser made at another replica', async () => {
    awaited.add('alice', 'github');
    awaited.add('bob', 'github');
    await awaited.look();
    expect(linked).toEqual([]);
    await setup.link('alice');
    await awaited.look();
    await awaited.look();
    expect(linked).toEqual(['alice']);
  });

  it('polls until the link URL expires, and survives a storage that is down', async () => {
    awaited.add('alice', 'github');
    setup.failing = () => true;
    await awaited.look();
    setup.failing = () => false;
    setup.clock += 599_999;
    await awaited.look();
    const reads = setup.reads();
    setup.clock += 1;
    await setup.link('alice');
    await awaited.look();
    expect(setup.reads()).toBe(reads);
    expect(linked).toEqual([]);
  });

  it('keeps the latest 500 links', async () => {
    for (let user = 0; user <= 500; user++) awaited.add(`user-${user}`, 'github');
    await setup.link('user-0');
    await setup.link('user-1');
    await awaited.look();
    expect(linked).toEqual(['user-1']);
  });
});
