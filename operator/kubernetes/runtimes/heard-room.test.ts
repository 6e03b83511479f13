import { expect, it } from '@jest/globals';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { HeardRoom, weightOf } from './heard-room.ts';

const MIB = 1024 * 1024;

it('what the pods of one namespace say is kept up to a bound, and others have theirs', () => {
  const room = new HeardRoom();
  const kept = Array.from({ length: 100 }, (_, at) => room.take('a', `a${at}`, MIB));
  expect(kept.filter(Boolean)).toHaveLength(16);
  expect(room.take('b', 'b0', MIB)).toBe(true);
  room.leave('a0');
  expect([room.take('a', 'a50', MIB), room.take('a', 'a51', 1)]).toEqual([true, false]);
  // The same pod says something shorter, and then nothing.
  expect([room.take('a', 'a50', 1), room.take('a', 'a51', MIB - 1)]).toEqual([true, true]);
});

it('what all pods say is kept up to a bound, beyond which a namespace has half a megabyte', () => {
  const room = new HeardRoom();
  for (let at = 0; at < 40; at += 1) room.take(`n${at % 5}`, `p${at}`, MIB);
  expect([room.take('late', 'l0', MIB), room.take('late', 'l1', MIB / 2), room.take('late', 'l2', 1)]).toEqual([
    false,
    true,
    false,
  ]);
  room.leave('p0');
  expect(room.take('late', 'l2', MIB / 2)).toBe(true);
});

it('what 1,500 honest pods of one namespace say is kept, each with 25 backends that have a Secret each', () => {
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
  const room = new HeardRoom();
  const kept = Array.from({ length: 1500 }, (_, at) => room.take('team', `p${at}`, weight));
  expect(kept).not.toContain(false);
});

it('many short entries weigh more than their text', () => {
  const secretFiles = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`${at}`, '']));
  expect(weightOf({ status: RuntimeStatus.parse({}), secretFiles })).toBeGreaterThan(64_000);
});
