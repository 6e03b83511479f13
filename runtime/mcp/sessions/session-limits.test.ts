import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { RunConfig } from '#crds/run-config/run-config';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { countedFor, sessionLimits } from './session-limits.ts';

function configOf(incoming: object, limits: object) {
  return RunConfig.parse({
    schema_version: 'v0.1.0',
    server: { namespace: 'team', name: 'tools', uid: '1' },
    backends: [],
    incoming,
    limits,
  });
}

const OIDC = { type: 'oidc', issuer: 'https://id.example.com', audience: 'mcp' };
const req = new IncomingMessage(new Socket());
const readSource = () => '192.0.2.1';

describe('sessionLimits', () => {
  it.each([
    [OIDC, {}, 100],
    [OIDC, { sessions_per_principal: 7 }, 7],
    [{ type: 'anonymous' }, {}, 10_000],
    [{ type: 'anonymous' }, { sessions_per_replica: 50 }, 50],
    [{ type: 'anonymous' }, { sessions_per_principal: 7 }, 7],
  ])('allows, for %j with %j, %d sessions of a principal', (incoming, limits, most) => {
    expect(sessionLimits(configOf(incoming, limits)).perPrincipal).toBe(most);
  });
});

describe('countedFor', () => {
  it('returns the client address of an anonymous caller if the limit is configured', () => {
    const written = configOf({ type: 'anonymous' }, { sessions_per_principal: 7 });
    expect(countedFor(ANONYMOUS, req, { config: written, readSource })).toContain('192.0.2.1');
    const absent = configOf({ type: 'anonymous' }, {});
    expect(countedFor(ANONYMOUS, req, { config: absent, readSource })).toBe(ANONYMOUS.key);
  });

  it('returns the /64 of an IPv6 address, as one caller has all of its addresses', () => {
    const config = configOf({ type: 'anonymous' }, { sessions_per_principal: 7 });
    const of = (address: string) => countedFor(ANONYMOUS, req, { config, readSource: () => address });
    expect(of('2001:db8:1:2::1')).toBe(of('2001:db8:1:2:ffff::9'));
    expect(of('2001:db8:1:2::1')).not.toBe(of('2001:db8:1:3::1'));
    expect(of('192.0.2.1')).not.toBe(of('192.0.2.2'));
  });

  it('returns an authenticated caller regardless of its address', () => {
    const config = configOf(OIDC, { sessions_per_principal: 7 });
    const ann = { ...ANONYMOUS, issuer: 'https://id.example.com', subject: 'ann', key: 'ann' };
    expect(countedFor(ann, req, { config, readSource })).toBe('ann');
  });
});
