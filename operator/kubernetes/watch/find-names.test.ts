import { describe, expect, it } from '@jest/globals';
import { findNames } from './find-names.ts';

describe('names of Secrets and ConfigMaps', () => {
  it('finds the Secrets of key references, of lists and of maps, and those that are named whole', () => {
    const { secrets } = findNames({
      authServerConfig: {
        hmacSecretRefs: [{ name: 'hmac', key: 'new' }],
        upstreamProviders: [{ oidcConfig: { clientSecretRef: { name: 'upstream', key: 'secret' } } }],
      },
      headerForward: { addHeadersFromSecret: { 'X-Key': { name: 'header', key: 'value' } } },
      secrets: [{ name: 'environment', key: 'token', targetEnvName: 'TOKEN' }],
      tls: { secretRef: { name: 'certificate' } },
    });
    expect(Object.fromEntries(secrets)).toEqual({
      certificate: new Set(['tls.crt', 'tls.key']),
      environment: new Set(['token']),
      header: new Set(['value']),
      hmac: new Set(['new']),
      upstream: new Set(['secret']),
    });
  });

  it('finds ConfigMaps in either form, and takes none for a Secret', () => {
    const found = findNames({
      incomingAuth: {
        authzConfig: { type: 'configMap', configMap: { name: 'policies' } },
        oidcConfig: { inline: { caBundleRef: { name: 'roots', key: 'ca.pem' } } },
      },
      caBundleRef: { configMapRef: { name: 'other-roots', key: 'ca.crt' } },
      permissionProfile: { type: 'configmap', name: 'profile', key: 'profile.json' },
    });
    expect([...found.configMaps.keys()].sort()).toEqual(['other-roots', 'policies', 'profile', 'roots']);
    expect(found.secrets.size).toBe(0);
  });

  it.each(['..', '.', '../../other/secrets/a', 'other/a', 'A', ''])(
    'takes %j for no name: as a part of a path it would lead elsewhere',
    (name) => {
      const found = findNames({ anything: { name, key: 'b' }, configMapRef: { name } });
      expect(found).toEqual({ secrets: new Map(), configMaps: new Map() });
    },
  );

  it('reads nothing that only the kubelet needs, and no name of another kind', () => {
    const found = findNames({
      config: { groupRef: 'tools' },
      externalAuthConfigRef: { name: 'github' },
      imagePullSecrets: [{ name: 'pull' }],
      podTemplateSpec: { spec: { volumes: [{ secret: { secretName: 'own' } }], key: { name: 'a', key: 'b' } } },
      env: [{ name: 'LOG_LEVEL', value: 'debug' }],
    });
    expect(found).toEqual({ secrets: new Map(), configMaps: new Map() });
  });
});
