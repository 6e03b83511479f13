import { describe, expect, it } from '@jest/globals';
import { emptyWorld } from '#operator/testdata/empty-world';
import type { World } from '#operator/world';
import { configMapText, secretDigest } from './file-list.ts';

const why = 'it would exceed 16 MiB: name fewer';
const platform: World['platform'] = {
  mode: 'cluster',
  runtimeImage: 'runtime',
  allowHostPaths: false,
  stdioAttach: false,
  imagePullSecrets: [],
  scraperNamespaces: [],
};
const world = emptyWorld({ platform, refused: { secrets: { a: why }, configMaps: { b: why } } });

describe('reading a Secret or ConfigMap', () => {
  it('waits with the reason: a Secret', () => {
    expect(() => secretDigest(world, { name: 'a', key: 'k' }, 'passwordRef')).toThrow(
      expect.objectContaining({ reason: 'SecretNotRead', message: `passwordRef: Secret "a" is not read: ${why}` }),
    );
  });

  it('waits with the reason: a ConfigMap', () => {
    expect(() => configMapText(world, { name: 'b', key: 'k' }, 'caBundleRef')).toThrow(
      expect.objectContaining({
        reason: 'ConfigMapNotRead',
        message: `caBundleRef: ConfigMap "b" is not read: ${why}`,
      }),
    );
  });
});
