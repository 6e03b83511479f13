import { KubeApi } from '../kubernetes/api/api.ts';
import type { KubeObject } from '../kubernetes/api/object.ts';
import { textsOf } from '../kubernetes/observe/config-map-texts.ts';
import { readPodStatus } from '../kubernetes/runtimes/fetch-pod-status.ts';
import { weightOf } from '../kubernetes/runtimes/status-quota.ts';
import { SecretValues } from '../kubernetes/secrets/secret-values.ts';
import type { CachedValue } from '../kubernetes/watch/named-values.ts';
import { MIB } from '../memory-bounds.ts';

// Prints, for cached Secrets, ConfigMaps and statuses of several shapes, the heap bytes per byte of the counted memory.

const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
/** Names of different objects differ, as equal names are stored once. */
let turn = 0;
const record = (count: number, value: string, name = (at: number) => `k${at}-${turn}`): Record<string, string> =>
  Object.fromEntries(many(count, (at) => [name(at), value]));
const wide = `€${'x'.repeat(250_000)}`;
const longName = (at: number) => `${at}-${turn}`.padEnd(253, 'n');

const ignore = () => undefined;
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const secretValues = new SecretValues(Object.create(KubeApi.prototype) as KubeApi, log);
secretValues.useKey('key');
const secret =
  (named: boolean) =>
  (object: KubeObject): CachedValue<unknown> =>
    secretValues.keep(object.data as Record<string, string>, new Set(named ? Object.keys(object.data ?? {}) : []));
const status = (object: unknown): CachedValue<unknown> => {
  const value = readPodStatus(object);
  return { value, bytes: weightOf(value) };
};

type Shape = [keep: (object: never) => CachedValue<unknown>, object: () => object];
const SHAPES: Record<string, Shape> = {
  'ConfigMap of a text': [textsOf, () => ({ data: { text: 'x'.repeat(250_000) } })],
  'ConfigMap of a wide text': [textsOf, () => ({ data: { text: wide } })],
  'ConfigMap of many keys': [textsOf, () => ({ data: record(10_000, '') })],
  'ConfigMap of long names': [textsOf, () => ({ data: record(2000, '', longName) })],
  'Secret of a value': [secret(true), () => ({ data: { text: 'QUFB'.repeat(60_000) } })],
  'Secret of many named keys': [secret(true), () => ({ data: record(10_000, 'QUFB') })],
  'Secret of other keys': [secret(false), () => ({ data: record(10_000, 'QUFB') })],
  'Secret of long names': [secret(true), () => ({ data: record(2000, 'QUFB', longName) })],
  'status of many backends': [
    status,
    () => ({ backends: many(1000, (at) => ({ name: `b${at}-${turn}`, phase: 'ready', tools: 1 })) }),
  ],
  'status of many files': [status, () => ({ secret_files: record(4000, '') })],
  'status of a usual runtime': [
    status,
    () => ({
      config_digest: '0'.repeat(64),
      backends: many(25, (at) => ({ name: `backend-of-the-team-${turn}-${at}`, phase: 'ready', tools: 12 })),
      secret_files: record(25, '0'.repeat(64), (at) => `/etc/vmcp/credentials/backend-of-the-team-${turn}-${at}-token`),
    }),
  ],
  'status of wide texts': [status, () => ({ warnings: many(100, () => `€${'x'.repeat(4000)}`) })],
  'status of texts that are cut': [status, () => ({ warnings: many(4, () => 'x'.repeat(200_000)) })],
  'status of an authorization server': [
    status,
    () => ({
      auth_server: {
        storage: 'redis',
        signing_keys: { kids: many(100, (at) => `k${at}-${turn}`), signing: 'k', ephemeral: false },
        secrets: { kids: many(100, (at) => `k${at}-${turn}`), making: 'k', ephemeral: false },
        secrets_in_use: Object.fromEntries(many(100, (at) => [`k${at}-${turn}`, 1])),
        unacknowledged: 0,
        redirect_uris: record(100, 'https://a'),
      },
    }),
  ],
};

function costOf([keep, object]: Shape): number {
  const held: unknown[] = [];
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  let weight = 0;
  while (weight < 24 * MIB) {
    turn += 1;
    const { value, bytes } = keep(JSON.parse(JSON.stringify(object())) as never);
    held.push(value);
    weight += bytes;
  }
  globalThis.gc?.();
  const cost = (process.memoryUsage().heapUsed - before) / weight;
  if (held.length === 0) throw new Error('nothing is held');
  return cost;
}

process.stdout.write(
  JSON.stringify(Object.fromEntries(Object.entries(SHAPES).map(([name, shape]) => [name, costOf(shape)]))),
);
