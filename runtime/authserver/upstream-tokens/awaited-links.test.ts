import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AwaitedLinks } from './awaited-links.ts';
import { createWorld, type World } from './testdata/world.ts';

let world: World;
let linked: string[];
let awaited: AwaitedLinks;
beforeEach(() => {
  world = createWorld();
  linked = [];
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  awaited = new AwaitedLinks({ storage: world.storage, now: () => world.clock, log }, (sub) => {
    linked.push(sub);
    awaited.forget(sub);
  });
});
afterEach(() => {
  awaited.close();
  world.close();
});

describe('AwaitedLinks', () => {
  it('reports once a link that the browser made at another replica', async () => {
    awaited.add('alice', 'github');
    awaited.add('bob', 'github');
    await awaited.look();
    expect(linked).toEqual([]);
    await world.link('alice');
    await awaited.look();
    await awaited.look();
    expect(linked).toEqual(['alice']);
  });

  it('polls until the link URL expires, and survives a storage that is down', async () => {
    awaited.add('alice', 'github');
    world.failing = () => true;
    await awaited.look();
    world.failing = () => false;
    world.clock += 599_999;
    await awaited.look();
    const reads = world.reads();
    world.clock += 1;
    await world.link('alice');
    await awaited.look();
    expect(world.reads()).toBe(reads);
    expect(linked).toEqual([]);
  });

  it('keeps the latest 500 links', async () => {
    for (let user = 0; user <= 500; user++) awaited.add(`user-${user}`, 'github');
    await world.link('user-0');
    await world.link('user-1');
    await awaited.look();
    expect(linked).toEqual(['user-1']);
  });
});
