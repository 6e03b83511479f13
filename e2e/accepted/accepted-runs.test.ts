import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { allocatePorts } from '#local/allocate-ports';
import { applicantsOf, buildSnapshot } from '#local/build-snapshot';
import type { Outcome, Rendered } from '#operator/plan/outcome';
import { plan } from '#operator/plan/plan';
import { GENERATED_SECRETS, type GeneratedSecret, type Manifest, type Snapshot } from '#operator/snapshot';
import { contentHash } from '#operator/content-hash';
import { listFiles } from '#runtime/list-files';
import { arbitraryResources, type Resources, SECRET, folderContentOf } from './arbitrary-resources.ts';
import { SEEDS } from './seeds.ts';
import { type ReadSource, serveDocument } from './serve-document.ts';

const RUNS = Number(process.env.RUNS ?? 2_000);
const SEED = Number(process.env.SEED ?? 20_261_124);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vmcp-accepted-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const GENERATED: Record<GeneratedSecret, string> = {
  sealing: SECRET.long ?? '',
  hmacSecret: SECRET.long ?? '',
  statusToken: SECRET.plain ?? '',
  signingKey: SECRET.signing ?? '',
};
const generated = ({ metadata: { name } }: Pick<Manifest, 'metadata'>) =>
  Object.fromEntries(GENERATED_SECRETS.map((which) => [which, contentHash(`${name} ${which}`)]));

function localSnapshot(resources: Resources): Snapshot {
  const folderContent = folderContentOf(resources, Object.keys(SECRET));
  const { servers, backends } = applicantsOf(folderContent);
  const none = { slots: {}, privatePlaces: {}, uids: {}, backendPlaces: {} };
  return buildSnapshot(folderContent, 'default', {
    allocations: allocatePorts(none, servers, backends, { busy: () => false, makeUid: () => 'uid' }),
    ...{ directory: folder, loginDirectory: join(folder, 'logins'), containerEngine: 'podman' },
    ...{ portConflicts: new Map(), hostAddress: undefined, limitsIgnored: false, envFiles: () => undefined, generated },
    ...{
      appendFlaw: () => undefined,
      digest: (_value, place) => contentHash(place),
      status: () => undefined,
      documents: {},
      observed: {},
    },
  });
}

function clusterSnapshot(resources: Resources): Snapshot {
  const snapshot = localSnapshot(resources);
  const keySet = { keys: [{ kty: 'EC', kid: 'a' }] };
  return { ...snapshot, flaws: {}, platform: { mode: 'cluster', keySet, runtimeImage: 'vmcp', allowHostPaths: false } };
}

/** Returns the plan's outcome for each runtime of a folder. */
function plannedOf(snapshot: Snapshot): Outcome[] {
  const named = [
    { kind: 'VirtualMCPServer', name: 'server' },
    { kind: 'MCPServer', name: 'alpha' },
    { kind: 'MCPServer', name: 'beta' },
  ] as const;
  return named.map((key) => plan({ ...key, namespace: 'default' }, snapshot, '2026-01-01T00:00:00Z'));
}

/** Maps fields whose files hold no credential to the Secret key whose value is valid there. */
const USABLE: Record<string, string> = {
  signing_key_file: 'signing',
  fallback_key_files: 'signing',
  private_key_file: 'signing',
  ca_cert_file: 'tls.crt',
  client_cert_file: 'tls.crt',
  cert_file: 'tls.crt',
  client_key_file: 'tls.key',
  key_file: 'tls.key',
};

/** Returns, for each file, the Secret keys whose values are valid in the fields that name the file. */
function usableKeys({ document }: Rendered): Map<string, ReadonlySet<string>> {
  const keys = new Map<string, ReadonlySet<string>>();
  for (const { file, path } of listFiles(document)) {
    const field = path.find((step) => typeof step === 'string' && /_files?$/.test(step)) ?? '';
    keys.set(file, new Set([...(keys.get(file) ?? []), USABLE[field] ?? 'long']));
  }
  return keys;
}

/** Returns a valid value for the field. In a cluster the planner sees no Secret values, so the test supplies them. */
function usableValue(rendered: Rendered, file: string): string {
  const [key = 'long'] = usableKeys(rendered).get(`${rendered.secretDirectory}/${file}`) ?? [];
  return SECRET[key] ?? '';
}

async function refusalOf(rendered: Rendered, mode: Snapshot['platform']['mode']): Promise<string | undefined> {
  try {
    const read: ReadSource = (source, file) => {
      if (!('secret' in source)) return GENERATED[source.generated];
      return mode === 'cluster' ? usableValue(rendered, file) : (SECRET[source.key] ?? '');
    };
    await serveDocument(rendered, read, folder);
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

/** Rejects documents that name one Secret value both as a key and as a credential: no value is valid as both. */
const hasValues = (rendered: Rendered): boolean => [...usableKeys(rendered).values()].every(({ size }) => size === 1);

const folders = fc.record({
  mode: fc.constantFrom('local' as const, 'cluster' as const),
  resources: arbitraryResources,
});

describe('the runtime', () => {
  it.each([...SEEDS, { seed: SEED, numRuns: RUNS }])(
    'serves every document that the planner accepts (seed $seed)',
    async ({ seed, numRuns, ...rest }) => {
      const count = { folders: 0, accepted: 0 };
      await fc.assert(
        fc.asyncProperty(folders, async ({ mode, resources }) => {
          const snapshot = mode === 'local' ? localSnapshot(resources) : clusterSnapshot(resources);
          const rendered = plannedOf(snapshot).flatMap((outcome) => (outcome.rendered ? [outcome.rendered] : []));
          count.folders++;
          if (rendered.length > 0) count.accepted++;
          for (const one of rendered.filter(hasValues)) expect(await refusalOf(one, mode)).toBeUndefined();
        }),
        { seed, numRuns, endOnFailure: true, ...rest },
      );
      // If the planner rejects nearly all generated folders, the test proves nothing.
      if (numRuns >= 500) expect(count.accepted / count.folders).toBeGreaterThan(0.2);
    },
    1_200_000,
  );
});
