import { describe, expect, it } from '@jest/globals';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { StatusQuota, weightOf } from './status-quota.ts';

const MIB = 1024 * 1024;

describe('StatusQuota', () => {
  it('limits what one namespace holds and leaves the rest to others', () => {
    const quota = new StatusQuota();
    const kept = Array.from({ length: 100 }, (_, at) => quota.take('a', `a${at}`, MIB));
    expect(kept.filter(Boolean)).toHaveLength(16);
    expect(quota.take('b', 'b0', MIB)).toBe(true);
    quota.release('a0');
    expect([quota.take('a', 'a50', MIB), quota.take('a', 'a51', 1)]).toEqual([true, false]);
    // A pod replaces its status by a shorter one.
    expect([quota.take('a', 'a50', 1), quota.take('a', 'a51', MIB - 1)]).toEqual([true, true]);
  });

  it('limits what all namespaces hold, and guarantees each namespace half a megabyte', () => {
    const quota = new StatusQuota();
    for (let at = 0; at < 32; at += 1) quota.take(`n${at % 5}`, `p${at}`, MIB);
    expect([quota.take('late', 'l0', MIB), quota.take('late', 'l1', MIB / 2), quota.take('late', 'l2', 1)]).toEqual([
      false,
      true,
      false,
    ]);
    quota.release('p0');
    expect(quota.take('late', 'l2', MIB / 2)).toBe(true);
  });

  it('keeps the statuses of 1,500 pods of one namespace with 25 backends and a Secret each', () => {
    const backends = Array.from({ length: 25 }, (_, at) => ({
      name: `backend-of-the-team-${at}`,
      phase: 'ready',
      tools: 12,
    }));
    const files = backends.map(({ name }) => [`/etc/vmcp/credentials/${name}-token`, '0'.repeat(64)]);
    const kids = ['0'.repeat(43)];
    const auth_server = {
      ...{
        storage: 'redis',
        secrets: { kids, making: kids[0], ephemeral: false },
        secrets_in_use: {},
        unacknowledged: 0,
      },
      signing_keys: { kids, signing: kids[0], ephemeral: false },
      redirect_uris: { github: 'https://mcp.example.com/oauth/callback' },
    };
    const status = RuntimeStatus.parse({ config_digest: '0'.repeat(64), backends, tools: 300, auth_server });
    const weight = weightOf({ status, secretFiles: Object.fromEntries(files) as Record<string, string> });
    const quota = new StatusQuota();
    const kept = Array.from({ length: 1500 }, (_, at) => quota.take('team', `p${at}`, weight));
    expect(kept).not.toContain(false);
  });

  it('weighs many short entries more than their text', () => {
    const secretFiles = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`${at}`, '']));
    expect(weightOf({ status: RuntimeStatus.parse({}), secretFiles })).toBeGreaterThan(96_000);
  });
});
