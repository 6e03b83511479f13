import { dirname, relative, resolve } from 'node:path';
import { renderObjects } from '#operator/kubernetes/gitops/render-objects';
import { allocatePorts, readAllocations } from '#local/allocate-ports';
import { codeOf } from '#lib/files/write-file';
import { applicantsOf, buildSnapshot } from '#local/build-snapshot';
import { withStored } from '#local/current-folder-content';
import { fileFacts } from '#local/file-facts';
import { ignoresLimits } from '#local/ignores-limits';
import { listManifestFiles, readFolderContent, type FolderContent } from '#local/manifest-folder';
import { findPortConflicts, portClaims } from '#local/port-claims';
import type { Problem } from '#local/resource';
import { StoredSecrets } from '#local/stored-secrets';
import { LocalSecrets } from '#management/secrets/local-secrets';
import { DEFAULT_API_GROUP } from '#crds/kinds/index';
import type { Condition } from '#crds/parts/conditions';
import type { Outcome } from '#operator/plan/outcome';
import { plan } from '#operator/plan/plan';
import { systemClock } from '#operator/queue';
import { type ClusterFacts, GENERATED_SECRETS, keyText, type Manifest, type ResourceKey } from '#operator/snapshot';
import { contentHash } from '#operator/content-hash';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { findLeftOut, type FindPosition } from './find-left-out.ts';
import { placeIn } from './find-policy-position.ts';

/** Placeholder for an identity that the first start creates. */
const NO_UID = '00000000-0000-0000-0000-000000000000';

/** Planning starts no process and writes nothing. */
interface CheckedFolder {
  folderContent: FolderContent;
  outcomes: Outcome[];
  problems: Problem[];
  warnings: Problem[];
}

/** Returns file names relative to the working directory. @throws CliError when the folder has no resources */
export function loadFolder(folder: string): FolderContent {
  try {
    const files = listManifestFiles(folder);
    if (files.length === 0) throw new CliError(EXIT_CODES.input, `${folder} holds no *.yaml file: name another folder`);
    return readFolderContent(files);
  } catch (problem) {
    if (problem instanceof CliError) throw problem;
    const code = codeOf(problem);
    if (code === undefined) throw problem;
    throw new CliError(EXIT_CODES.input, `${folder} cannot be read (${code}): name a folder with manifests`);
  }
}

/** All manifests of a folder belong to one installation. */
export function apiGroupOf({ manifests: [first] }: Pick<FolderContent, 'manifests'>): string {
  return first?.apiVersion.split('/')[0] ?? DEFAULT_API_GROUP;
}

/** The plan uses only the names of secrets, so no output depends on a value. */
function planAll(folderContent: FolderContent, { state, containerEngine }: Context): Outcome[] {
  const { servers, backends } = applicantsOf(folderContent);
  const known = {
    allocations: allocatePorts(readAllocations(state), servers, backends, { busy: () => false, makeUid: () => NO_UID }),
    portConflicts: findPortConflicts(portClaims(folderContent.manifests), []),
    directory: state.run,
    loginDirectory: state.logins,
    containerEngine,
    hostAddress: undefined,
    limitsIgnored: ignoresLimits(containerEngine),
    ...fileFacts(({ kind, metadata }) =>
      dirname(folderContent.sources.get(keyText({ kind, ...metadata }))?.file ?? ''),
    ),
    digest: (_value: string, place: string) => contentHash(place),
    generated: ({ metadata: { name } }: Manifest) =>
      Object.fromEntries(GENERATED_SECRETS.map((which) => [which, contentHash(`${name} ${which}`)])),
    status: () => undefined,
    documents: {},
    observed: {},
  };
  const now = new Date(0).toISOString();
  return folderContent.manifests.map(({ kind, metadata: { namespace, name } }) => {
    const key: ResourceKey = { kind, namespace, name };
    return plan(key, buildSnapshot(folderContent, namespace, known), now);
  });
}

function conditionsOf({ status }: Outcome, fits: (condition: Condition) => boolean): Condition[] {
  return (status?.conditions ?? []).filter(fits);
}

const PROBLEMS = ['Stalled', 'Waiting', 'ProviderOutOfService'];

/** In a cluster each MCPServer has a Service of its own, so equal `proxyPort`s conflict on one machine only. */
const hasSharedProxyPort = ({ reason, message }: Condition): boolean =>
  reason === 'PortInUse' && /\bproxyPort: port \d+ is in use by MCPServer .*\(proxyPort\)/.test(message);

const isProblem = (condition: Condition): boolean =>
  condition.status === 'True' && PROBLEMS.includes(condition.type) && !hasSharedProxyPort(condition);
const isWarning = (condition: Condition): boolean =>
  condition.status === 'True' &&
  (hasSharedProxyPort(condition) ||
    !['Ready', 'AllBackendsReady', 'BackendsResolved', ...PROBLEMS].includes(condition.type));

type Said = Pick<Condition, 'reason' | 'message'>;

/** Each provider out of service has its own reason. */
function sayEach({ type, reason, message }: Condition): Said[] {
  if (type === 'ProviderOutOfService') {
    return message.split(/; (?=(?:\w+: )?\w+\.upstreamProviders\[)/).map((each) => withOwnReason(each, reason));
  }
  return (reason === 'NotInGroup' ? message.split('; ') : [message]).map((each) => ({ reason, message: each }));
}

function withOwnReason(text: string, reason: string): Said {
  const [, own = reason, message = text] = /^(\w+): (\w+\.upstreamProviders\[.*)$/s.exec(text) ?? [];
  return { reason: own, message };
}

/** The caller prints the name before the message. */
function withoutName(message: string, { kind, name }: ResourceKey): string {
  const named = `${kind} "${name}" `;
  return message.startsWith(named) ? message.slice(named.length) : message;
}

async function withSecrets(folderContent: FolderContent, context: Context): Promise<FolderContent> {
  const stored = new StoredSecrets(new LocalSecrets(context), systemClock);
  try {
    await stored.load(folderContent.manifests);
    return withStored(folderContent, stored);
  } finally {
    stored.close();
  }
}

export function checkFolder(folder: string, context: Context): Promise<CheckedFolder> {
  return checkFolderContent(loadFolder(folder), folder, context);
}

/** `whole` names the snapshot in problems that belong to no file. */
export async function checkFolderContent(
  read: FolderContent,
  whole: string,
  context: Context,
  cluster?: ClusterFacts,
): Promise<CheckedFolder> {
  const folderContent = cluster ? read : await withSecrets(read, context);
  const outcomes = cluster
    ? renderObjects(folderContent, apiGroupOf(folderContent), cluster).outcomes
    : planAll(folderContent, context);
  const isTold = (file: string, said: string) =>
    folderContent.problems.some((one) => one.file === file && said.includes(`${one.path}: ${one.message}`));
  const place: FindPosition = (source, key, said) => placeIn(source, key, said, folderContent);
  const from = (fits: (condition: Condition) => boolean): Problem[] =>
    outcomes.flatMap((outcome) => {
      const { key } = outcome;
      const source = folderContent.sources.get(keyText(key));
      const file = source?.file ?? whole;
      return conditionsOf(outcome, fits)
        .filter(({ reason, message }) => reason !== 'InvalidSpec' || !isTold(file, message))
        .flatMap((condition) =>
          sayEach(condition).map(({ reason, message }) => ({ reason, said: withoutName(message, key) })),
        )
        .map(({ reason, said }) => ({
          ...(source ? place(source, key, said) : { file, line: 1 }),
          path: `${key.kind}/${key.name}`,
          message: `${reason}: ${said}`,
        }));
    });
  const problems = [...folderContent.problems, ...from(isProblem)];
  const leftOut = findLeftOut(outcomes, (key) => folderContent.sources.get(key), place, problems);
  return {
    folderContent,
    outcomes,
    problems: [...problems, ...leftOut],
    warnings: [...folderContent.notices, ...from(isWarning)],
  };
}

export function shownPath(file: string): string {
  const seen = relative('', resolve(file));
  return seen.startsWith('..') ? file : seen;
}

/** Editors and compilers parse `file:line:column: field: message`; the column is optional. */
export function printProblem({ file, line, column, path, message }: Problem): string {
  const place = column === undefined ? `${line}` : `${line}:${column}`;
  return `${shownPath(file)}:${place}: ${path === '' ? '' : `${path}: `}${message}`;
}
