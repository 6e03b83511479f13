import { describe, expect, it } from '@jest/globals';
import { AppUris } from './app-uris.ts';

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

describe('AppUris', () => {
  it('gives the first backend in configuration order the URI, in whatever order the lists arrive', () => {
    const apps = new AppUris(() => ['a', 'b']);
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
    const apps = new AppUris(() => ['a', 'b']);
    for (const name of ['a', 'b']) apps.learn(name, 'resources', resources('ui://x'));
    apps.learn('a', 'resources', resources('ui://b.x'));
    expect(apps.ownerOf('ui://b.x')).toEqual({ backend: 'a', uri: 'ui://b.x' });
  });

  it('forgets a backend that has left the configuration', () => {
    let order = ['a', 'b'];
    const apps = new AppUris(() => order);
    for (const name of order) apps.learn(name, 'resources', resources('ui://x'));
    order = ['b'];
    expect(apps.assign()).toBe(true);
    expect(apps.aliasesOf('b')).toBeUndefined();
    expect(apps.ownerOf('ui://x')).toEqual({ backend: 'b', uri: 'ui://x' });
  });

  it('knows a limited number of apps of one backend', () => {
    const apps = new AppUris(() => ['a', 'b']);
    apps.learn('a', 'resources', resources(...Array.from({ length: 2_001 }, (_, index) => `ui://${index}`)));
    expect([apps.isKnown('ui://1999', 'a'), apps.isKnown('ui://2000', 'a')]).toEqual([true, false]);
    apps.learn('b', 'resources', resources('ui://2000'));
    expect(apps.isKnown('ui://2000', 'b')).toBe(true);
  });
});
