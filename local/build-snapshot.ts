import { byName, resourcesBy } from '#operator/by-name';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import { MCPServerSpec } from '#crds/kinds/index';
import type { Status } from '#crds/kinds/status';
import { AuditConfig } from '#crds/parts/audit';
import { valueAt } from '#crds/parts/rule';
import { mayHaveRuntime } from '#operator/plan/child-names';
import { defined } from '#operator/plan/defined';
import { runtimeNameOf } from '#operator/plan/object-parts';
import {
  GENERATED_SECRETS,
  type GeneratedSecret,
  type Kind,
  type LocalFacts,
  type Manifest,
  type ResourceKey,
  type SecretDigests,
  type SecretFlaw,
  type Snapshot,
} from '#operator/snapshot';
import {
  type Allocations,
  type Applicant,
  backendPortOfSlot,
  portOfSlot,
  privatePortOfSlot,
} from './allocate-ports.ts';
import type { FolderContent } from './manifest-folder.ts';
import { findKeyPair, findSecretFlaws, findTlsFlaw } from './find-secret-flaws.ts';
import { claimedPort, type PortConflicts } from './port-claims.ts';

export interface Known {
  allocations: Allocations;
  portConflicts: Map<string, PortConflicts>;
  runtimeFailures?: [name: string, failure: string][];
  /** Undefined when vmcp starts nothing. */
  programs?: [name: string, port: NonNullable<LocalFacts['programs']>[string]][];
  /** Absolute path with one configuration folder for each namespace. */
  directory: string;
  /** Absolute path with one folder for each namespace. */
  loginDirectory: string;
  containerEngine: LocalFacts['containerEngine'];
  hostAddress: LocalFacts['hostAddress'];
  limitsIgnored: LocalFacts['limitsIgnored'];
  /** Returns absolute paths; undefined when the folder cannot be read. */
  envFiles: (folder: string) => string[] | undefined;
  appendFlaw: (file: string, manifest: Manifest) => string | undefined;
  /** Returns a keyed hash; `place` is `<namespace>/<secret>/<key>`. */
  digest: (value: string, place: string) => string;
  generated: (served: Manifest) => NonNullable<Snapshot['generated'][string]>;
  status: (key: ResourceKey) => Status | undefined;
  documents: Snapshot['documents'];
  observed: Snapshot['observed'];
}

function applicant({ metadata: { namespace } }: Manifest, name: string, claims: number | undefined): Applicant {
  const place = `${namespace}/${name}`;
  return claims === undefined ? { name: place } : { name: place, claims };
}

/** A remote login is sealed for its MCPServer, even in a group's runtime. */
const isSealedFor = (manifest: Manifest): boolean =>
  mayHaveRuntime(manifest) || (manifest.kind === 'MCPServer' && hasLogin(manifest));

export function applicantsOf({ manifests }: FolderContent): { servers: Applicant[]; backends: Applicant[] } {
  const ofKind = (wanted: Kind) => manifests.filter(({ kind }) => kind === wanted);
  const servers = [...ofKind('VirtualMCPServer'), ...ofKind('MCPServer')]
    .filter(isSealedFor)
    .map((manifest): Applicant => {
      const name = runtimeNameOf(manifest);
      return mayHaveRuntime(manifest)
        ? applicant(manifest, name, claimedPort(manifest))
        : { ...applicant(manifest, name, undefined), listens: false };
    });
  const backends = ofKind('MCPServer').map((manifest) => {
    const { data } = MCPServerSpec.safeParse(manifest.spec);
    return applicant(manifest, manifest.metadata.name, data?.command ? data.mcpPort : undefined);
  });
  return { servers, backends };
}

function inside<T>(entries: Iterable<[string, T]>, namespace: string): [string, T][] {
  const prefix = `${namespace}/`;
  return [...entries].flatMap(([place, value]) =>
    place.startsWith(prefix) ? [[place.slice(prefix.length), value]] : [],
  );
}

function envFilesOf(manifests: readonly Manifest[], { envFiles }: Known): [string, string[]][] {
  return manifests.flatMap(({ kind, spec, metadata: { name } }) => {
    const folder = kind === 'MCPServer' ? MCPServerSpec.safeParse(spec).data?.envFileDir : undefined;
    const files = folder === undefined ? undefined : envFiles(folder);
    return files ? [[name, files] as [string, string[]]] : [];
  });
}

function auditFlawsOf(manifests: readonly Manifest[], { appendFlaw }: Known): [string, string][] {
  return manifests.filter(mayHaveRuntime).flatMap((manifest) => {
    const audit = valueAt(manifest.spec, ['audit']) ?? valueAt(manifest.spec, ['config', 'audit']);
    const { logFile } = AuditConfig.safeParse(audit).data ?? {};
    return namedEntry(runtimeNameOf(manifest), logFile && appendFlaw(logFile, manifest));
  });
}

function factsOf(namespace: string, manifests: readonly Manifest[], known: Known): LocalFacts {
  const { allocations, directory, loginDirectory, containerEngine, hostAddress, limitsIgnored } = known;
  const { slots, privatePlaces, backendPlaces, uids } = allocations;
  const ports = inside(Object.entries(slots), namespace).map(([name, slot]) => {
    const place = privatePlaces[`${namespace}/${name}`] ?? slot;
    return [name, { port: portOfSlot(slot), privatePort: privatePortOfSlot(place) }] as const;
  });
  return {
    mode: 'local',
    directory: `${directory}/${namespace}`,
    loginDirectory: `${loginDirectory}/${namespace}`,
    ports: byName(ports),
    backendPorts: byName(
      inside(Object.entries(backendPlaces), namespace).map(([name, place]) => [name, backendPortOfSlot(place)]),
    ),
    envFiles: byName(envFilesOf(manifests, known)),
    auditFlaws: byName(auditFlawsOf(manifests, known)),
    ...(known.runtimeFailures && { runtimeFailures: byName(known.runtimeFailures) }),
    ...(known.programs && { programs: byName(known.programs) }),
    uids: byName(inside(Object.entries(uids), namespace)),
    ...defined({ containerEngine, hostAddress, limitsIgnored, portConflicts: known.portConflicts.get(namespace) }),
  };
}

const namedEntry = (place: string, found: string | undefined): [string, string][] =>
  found === undefined ? [] : [[place, found]];

export function buildSnapshot(folderContent: FolderContent, namespace: string, known: Known): Snapshot {
  const manifests = folderContent.manifests.filter(({ metadata }) => metadata.namespace === namespace);
  const ofKind = (kind: Kind): Record<string, Manifest> =>
    byName(
      manifests
        .filter((one) => one.kind === kind)
        .map((one) => [one.metadata.name, { ...one, status: known.status({ kind, ...one.metadata }) }]),
    );
  const secrets = inside(folderContent.secrets, namespace).map(([name, values]): [string, SecretDigests] => {
    const digests = Object.entries(values).map(
      ([key, value]) => [key, known.digest(value, `${namespace}/${name}/${key}`)] as const,
    );
    return [name, byName(digests)];
  });
  const values = inside(folderContent.secrets, namespace).flatMap(([name, byKey]) =>
    Object.entries(byKey).map(([key, value]) => [`${name}/${key}`, value] as const),
  );
  const binary = inside(folderContent.binaryKeys ?? [], namespace).flatMap(([name, keys]) =>
    keys.map((key) => [`${name}/${key}`, ['not text']] as [string, SecretFlaw[]]),
  );
  return {
    namespace,
    apiGroup: manifests[0]?.apiVersion.split('/')[0] ?? DEFAULT_API_GROUP,
    platform: factsOf(namespace, manifests, known),
    ...resourcesBy(ofKind),
    secrets: byName(secrets),
    flaws: byName([...binary, ...values.map(([place, value]) => [place, findSecretFlaws(value)] as const)]),
    keyPairs: byName(values.flatMap(([place, value]) => namedEntry(place, findKeyPair(value)))),
    tlsFlaws: byName(values.flatMap(([place, value]) => namedEntry(place, findTlsFlaw(value)))),
    configMaps: byName(
      inside(folderContent.configMaps, namespace).map(([name, texts]) => [name, byName(Object.entries(texts))]),
    ),
    generated: byName(manifests.filter(isSealedFor).map((served) => [runtimeNameOf(served), known.generated(served)])),
    documents: byName(Object.entries(known.documents)),
    observed: byName(Object.entries(known.observed)),
  };
}

const OF_AUTH_SERVER = new Set<GeneratedSecret>(['signingKey', 'hmacSecret']);

/** An MCPServer gets its authorization server from the configuration that it references. */
function hasAuthServer({ kind, metadata, spec }: Manifest, manifests: readonly Manifest[]): boolean {
  if (kind === 'VirtualMCPServer') return valueAt(spec, ['authServerConfig']) !== undefined;
  const name = valueAt(spec, ['externalAuthConfigRef', 'name']);
  return manifests.some(
    (one) =>
      one.kind === 'MCPExternalAuthConfig' &&
      one.metadata.name === name &&
      one.metadata.namespace === metadata.namespace &&
      valueAt(one.spec, ['embeddedAuthServer']) !== undefined,
  );
}

/** The tokens are sealed, whichever runtime uses them. */
function hasLogin({ spec }: Pick<Manifest, 'spec'>): boolean {
  return valueAt(spec, ['remoteAuth']) !== undefined;
}

/** Keys for an authorization server or for sealed logins are included only when the resource has one. */
export function neededSecrets(served: Manifest, manifests: readonly Manifest[]): GeneratedSecret[] {
  const withAuthServer = hasAuthServer(served, manifests);
  const isNeeded = (which: GeneratedSecret) => which === 'hmacSecret' && hasLogin(served);
  return GENERATED_SECRETS.filter((which) => withAuthServer || !OF_AUTH_SERVER.has(which) || isNeeded(which));
}
