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

describe('a link that a user was asked to make', () => {
  it('is seen when the browser made it at another replica, once', async () => {
    awaited.add('alice', 'github');
    awaited.add('bob', 'github');
    await awaited.look();
    expect(linked).toEqual([]);
    await world.link('alice');
    await awaited.look();
    await awaited.look();
    expect(linked).toEqual(['alice']);
  });

  it('is looked for no longer than its URL lives, and not while the storage is down', async () => {
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

  it('is one of at most 500: the one that waits longest goes', async () => {
    for (let user = 0; user <= 500; user++) awaited.add(`user-${user}`, 'github');
    await world.link('user-0');
    await world.link('user-1');
    await awaited.look();
    expect(linked).toEqual(['user-1']);
  });
});
