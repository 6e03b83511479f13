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

describe('what boundary 1 is made from', () => {
  it('has the limits of keys and tokens in it', () => {
    for (const name of ['jwks_max_age', 'jwks_cooldown', 'introspection_cache'])
      expect(settingsWith({ [name]: '7s' })).not.toBe(settingsWith({}));
  });

  it('has no other limit in it, so that what it remembers outlasts their change', () => {
    expect(settingsWith({ session_idle: '7m', max_response_bytes: 70_000, connect_timeout: '7s' })).toBe(
      settingsWith({}),
    );
  });
});
