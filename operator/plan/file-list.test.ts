import { describe, expect, it } from '@jest/globals';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { Snapshot } from '#operator/snapshot';
import { configMapText, secretDigest } from './file-list.ts';

const why = 'it would exceed 16 MiB: name fewer';
const platform: Snapshot['platform'] = {
  mode: 'cluster',
  runtimeImage: 'runtime',
  allowHostPaths: false,
  stdioAttach: false,
  imagePullSecrets: [],
  scraperNamespaces: [],
};
const snapshot = emptySnapshot({ platform, refused: { secrets: { a: why }, configMaps: { b: why } } });

describe('reading a Secret or ConfigMap', () => {
  it('waits with the reason: a Secret', () => {
    expect(() => secretDigest(snapshot, { name: 'a', key: 'k' }, 'passwordRef')).toThrow(
      expect.objectContaining({ reason: 'SecretNotRead', message: `passwordRef: Secret "a" is not read: ${why}` }),
    );
  });

  it('waits with the reason: a ConfigMap', () => {
    expect(() => configMapText(snapshot, { name: 'b', key: 'k' }, 'caBundleRef')).toThrow(
      expect.objectContaining({
        reason: 'ConfigMapNotRead',
        message: `caBundleRef: ConfigMap "b" is not read: ${why}`,
      }),
    );
  });
});
