import { describe, expect, it } from '@jest/globals';
import { findNames } from './find-names.ts';

describe('findNames', () => {
  it('finds Secrets in key references, lists and maps, and those without a key', () => {
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

  it('finds ConfigMaps in both forms, and distinguishes them from Secrets', () => {
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
    'ignores the name %j, which would change a path',
    (name) => {
      const found = findNames({ anything: { name, key: 'b' }, configMapRef: { name } });
      expect(found).toEqual({ secrets: new Map(), configMaps: new Map() });
    },
  );

  it('ignores references for the kubelet, and names of other kinds', () => {
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
