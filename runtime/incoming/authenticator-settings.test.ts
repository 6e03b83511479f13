import { describe, expect, it } from '@jest/globals';
import { RunConfig } from '#crds/run-config/run-config';
import { authenticatorSettings } from './authenticator-settings.ts';

function settingsWith(limits: object): string {
  const config = RunConfig.parse({
    schema_version: 'v0.1.0',
    server: { namespace: 'd', name: 'gateway', uid: 'u' },
    incoming: { type: 'anonymous' },
    backends: [],
    limits,
  });
  return JSON.stringify(authenticatorSettings(config));
}

describe('authenticatorSettings', () => {
  it('contains the limits of keys and tokens', () => {
    for (const name of ['jwks_max_age', 'jwks_cooldown', 'introspection_cache'])
      expect(settingsWith({ [name]: '7s' })).not.toBe(settingsWith({}));
  });

  it('contains no other limit, so that cached tokens survive a change of other limits', () => {
    expect(settingsWith({ session_idle: '7m', max_response_bytes: 70_000, connect_timeout: '7s' })).toBe(
      settingsWith({}),
    );
  });
});
