import { describe, expect, it } from '@jest/globals';
import { AppUris } from './app-uris.ts';
import type { BackendList } from './fetch-list.ts';

const resources = (...names: string[]) => ({
  entries: names.map((name) => ({ name, text: JSON.stringify({ uri: name }), annotations: undefined })),
  ttlMs: undefined,
  isPublic: false,
});
const tools = (uri: string) => ({
  ...resources(),
  entries: [
    { name: 't', text: JSON.stringify({ name: 't', _meta: { ui: { resourceUri: uri } } }), annotations: undefined },
  ],
});

const IDLE = 1_000;

/** Creates the URIs of these backends, with a clock and the lists that are cached for `a`. */
function create(names = ['a', 'b']) {
  const clock = { now: 0 };
  const cached: BackendList[] = [];
  const listsOf = (backend: string, kind: string) => (backend === 'a' && kind === 'resources' ? cached : []);
  const apps = new AppUris({
    backends: () => names.map((name) => ({ name })),
    lists: { listsOf },
    sessionIdle: () => IDLE,
    now: () => clock.now,
  });
  return { apps, clock, cached };
}

describe('AppUris', () => {
  it('gives the first backend in configuration order the URI, in whatever order the lists arrive', () => {
    const { apps } = create();
    expect(apps.learn('b', 'tools', tools('ui://x'))).toBe(false);
    expect(apps.aliasesOf('b')).toBeUndefined();
    expect(apps.learn('a', 'resources', resources('ui://x', 'file:///x'))).toBe(true);
    expect(apps.learn('a', 'resources', resources('ui://x'))).toBe(false);
    expect(apps.aliasesOf('a')).toBeUndefined();
    expect(apps.aliasesOf('b')?.toAlias).toEqual(new Map([['ui://x', 'ui://b.x']]));
    expect(apps.aliasesOf('b')?.toOwn).toEqual(new Map([['ui://b.x', 'ui://x']]));
    expect(apps.ownerOf('ui://x')).toEqual({ backend: 'a', uri: 'ui://x' });
    expect(apps.ownerOf('ui://b.x')).toEqual({ backend: 'b', uri: 'ui://x' });
    expect(apps.ownerOf('file:///x')).toBeUndefined();
  });

  it('gives an alias to no other app that has this URI', () => {
    const { apps } = create();
    for (const name of ['a', 'b']) apps.learn(name, 'resources', resources('ui://x'));
    apps.learn('a', 'resources', resources('ui://b.x'));
    expect(apps.ownerOf('ui://b.x')).toEqual({ backend: 'a', uri: 'ui://b.x' });
  });

  it('forgets a backend that has left the configuration', () => {
    const names = ['a', 'b'];
    const { apps } = create(names);
    for (const name of names) apps.learn(name, 'resources', resources('ui://x'));
    names.shift();
    expect(apps.assign()).toBe(true);
    expect(apps.aliasesOf('b')).toBeUndefined();
    expect(apps.ownerOf('ui://x')).toEqual({ backend: 'b', uri: 'ui://x' });
  });

  it('knows a limited number of apps of one backend', () => {
    const { apps } = create();
    apps.learn('a', 'resources', resources(...Array.from({ length: 2_001 }, (_, index) => `ui://${index}`)));
    expect([apps.isKnown('ui://1999', 'a'), apps.isKnown('ui://2000', 'a')]).toEqual([true, false]);
    apps.learn('b', 'resources', resources('ui://2000'));
    expect(apps.isKnown('ui://2000', 'b')).toBe(true);
  });

  it('forgets the least recently used URI that neither a list nor an open session needs', () => {
    const { apps, clock, cached } = create();
    const all = resources(...Array.from({ length: 2_000 }, (_, index) => `ui://${index}`));
    const knows = (...names: string[]) => names.map((name) => apps.isKnown(`ui://${name}`, 'a'));
    apps.learn('a', 'resources', all);
    apps.learn('b', 'resources', resources('ui://2'));
    cached.push(resources('ui://0'));
    clock.now = IDLE / 2;
    expect(apps.use('ui://1')).toEqual({ backend: 'a', uri: 'ui://1' });
    // A session of the first list may be open.
    apps.learn('a', 'resources', resources('ui://new'));
    expect(knows('new')).toEqual([false]);
    clock.now = IDLE;
    expect(apps.learn('a', 'resources', resources('ui://new'))).toBe(true);
    expect(knows('0', '1', '2', '3', 'new')).toEqual([true, true, false, true, true]);
    expect(apps.ownerOf('ui://2')).toEqual({ backend: 'b', uri: 'ui://2' });
  });
});
