import type { Identity } from '#runtime/incoming/identity';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { RemoteLoginNeeded } from '#runtime/remote-login/remote-login-needed';
import { PROBE_CAPABILITIES } from '#runtime/mcp/extensions';
import { readCapabilities, type ServerCapabilities } from '#runtime/mcp/sessions/capabilities';
import type { BackendSession } from '#runtime/mcp/sessions/session';
import { LATEST_LEGACY_REVISION, LEGACY_REVISIONS, MODERN_REVISION, type Era } from '../era.ts';
import { ask, NoAnswer, type Answer, type Question } from './ask.ts';
import type { Backend } from './backend.ts';
import { mayBeAway, NotOpened, NotStarted, RefusedInitialize, type CallFailure } from './failures.ts';

/** `eras` is undefined if the answer does not reveal them (a 401 without a credential). */
export interface Finding {
  readonly reachable: boolean;
  readonly eras: ReadonlySet<Era> | undefined;
  readonly revisions: readonly string[];
  readonly capabilities: ServerCapabilities | undefined;
  readonly message: string;
  /** The backend runs, but rejects its shared credential or has no process for a probe. */
  readonly isRefused?: boolean;
  /** The backend answered `initialize` with an error. */
  readonly refusesInitialize?: boolean;
}

export interface ProbeSettings {
  readonly identity: Identity;
  /** Milliseconds for each request. */
  readonly deadline: number;
  readonly version: string;
  /** False: it has the credential of a caller, and counts as a call. */
  readonly isProbe?: boolean;
}

const UNSUPPORTED_VERSION = -32022;

export function ownMeta(version: string, capabilities = '{}'): string {
  return `{"io.modelcontextprotocol/protocolVersion":"${MODERN_REVISION}","io.modelcontextprotocol/clientInfo":{"name":"vmcp","version":"${version}"},"io.modelcontextprotocol/clientCapabilities":${capabilities}}`;
}

/** Revision 2026-07-28 requires them for each request. */
export function modernHeaders(method: string): string[] {
  return ['mcp-protocol-version', MODERN_REVISION, 'mcp-method', method];
}

const unreachable = (message: string): Finding => ({
  reachable: false,
  eras: undefined,
  revisions: [],
  capabilities: undefined,
  message,
});

/** Returns the reason for operators. Callers only learn that the backend is unavailable and what they can do. */
function whyAway({ reason, error }: CallFailure): string {
  const { cause, message } = error;
  if (cause instanceof NotStarted) return `its process ${cause.message}`;
  if (cause instanceof NotOpened) return `its stream ${cause.message}: check its URL, and that it speaks SSE there`;
  const [what = message] = message.split(/[;:]/, 1);
  const code = typeof cause === 'object' && cause && 'code' in cause ? cause.code : undefined;
  if (typeof code === 'string') return `${what} (${code}): check its URL, and that it runs`;
  if (reason === 'http_error') return `${what}: check its URL, and its log`;
  return reason === 'timeout' ? `${what}; it is asked again` : message;
}

/** Also sends `initialize` if `server/discover` lists no older version: servers of both eras often list only the newer. */
export async function probe(backend: Backend, settings: ProbeSettings, last?: ServerCapabilities): Promise<Finding> {
  try {
    const isProcess = backend.config.transport === 'stdio';
    return await (isProcess ? askProcess(backend, settings, last) : askBoth(backend, settings, last));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const { failure } = error;
    // The gateway refused the call, so the backend is not at fault.
    if (failure.reason === 'busy') return { ...unreachable(failure.error.message), reachable: true, isRefused: true };
    // Without a caller there is no user credential, so the backend is not at fault.
    const needsCaller = failure.reason === 'credential' && backend.credential.perUser;
    if (failure.error instanceof RemoteLoginNeeded) {
      return { ...unreachable(failure.error.message), reachable: true, isRefused: true };
    }
    if (failure.reason === 'unauthorized' || needsCaller) {
      const isRefused = !backend.credential.perUser;
      const message = isRefused ? failure.error.message : '';
      return { ...unreachable(message), reachable: true, isRefused };
    }
    return unreachable(whyAway(failure));
  }
}

async function askBoth(backend: Backend, settings: ProbeSettings, last?: ServerCapabilities): Promise<Finding> {
  const modern = backend.sessions ? await discover(backend, settings, last) : undefined;
  const isWhole = modern && !(modern instanceof NoAnswer) && modern.capabilities !== undefined;
  if (isWhole && modern.eras?.has('legacy')) return modern;
  const older = await tryInitialize(backend, settings, last);
  // A missing answer does not change the known newer era.
  if (modern instanceof NoAnswer) return backend.health.eras?.has('modern') ? { ...older, eras: undefined } : older;
  return modern ? merge(modern, older) : older;
}

/** Most processes speak legacy revisions, and may not expect another first request. One that refuses it may speak only the newer one. */
async function askProcess(backend: Backend, settings: ProbeSettings, last?: ServerCapabilities): Promise<Finding> {
  const isKnown = backend.health.eras?.has('modern') === true;
  const known = isKnown ? await discover(backend, settings, last) : undefined;
  if (known && !(known instanceof NoAnswer)) return known;
  const older = await tryInitialize(backend, settings, last);
  if (known && !older.reachable) return unreachable(whyAway(known.failure));
  if (known || older.refusesInitialize !== true) return older;
  const modern = await discover(backend, settings, last);
  return modern && !(modern instanceof NoAnswer) ? modern : older;
}

function merge(modern: Finding, older: Finding): Finding {
  if (!older.reachable) return modern;
  const eras = new Set<Era>([...(modern.eras ?? []), ...(older.eras ?? [])]);
  return {
    ...modern,
    eras,
    // A server that refuses a revision may list the revisions that it accepted before.
    revisions: [...new Set([...modern.revisions, ...older.revisions])],
    capabilities: older.capabilities
      ? { ...older.capabilities, extensions: { ...modern.capabilities?.extensions, ...older.capabilities.extensions } }
      : modern.capabilities,
  };
}

async function discover(
  backend: Backend,
  settings: ProbeSettings,
  last?: ServerCapabilities,
): Promise<Finding | NoAnswer | undefined> {
  const answer = await tryAsk(backend, {
    ...settings,
    era: 'modern',
    method: 'server/discover',
    paramsText: `{"_meta":${ownMeta(settings.version, PROBE_CAPABILITIES)}}`,
    headers: modernHeaders('server/discover'),
    isProbe: settings.isProbe ?? true,
  });
  if (answer instanceof NoAnswer) return saysNothing(answer) ? answer : undefined;
  const versions = supportedVersions(answer);
  if (!versions) return undefined;
  const eras = new Set<Era>();
  if (versions.includes(MODERN_REVISION)) eras.add('modern');
  const older = LEGACY_REVISIONS.filter((revision) => versions.includes(revision));
  if (older.length > 0) eras.add('legacy');
  if (eras.size === 0) return undefined;
  return {
    reachable: true,
    eras,
    revisions: versions.includes(MODERN_REVISION) ? [MODERN_REVISION, ...older] : older,
    // A server that refuses this revision lists its revisions, but no capabilities.
    capabilities: answer.result && readCapabilities(answer.result, 'modern', last),
    message: '',
  };
}

/** Returns `NoAnswer` if the request arrived, because the backend may speak only the other era. */
async function tryAsk(backend: Backend, question: Question): Promise<Answer | NoAnswer> {
  try {
    return await ask(backend, question);
  } catch (error) {
    if (error instanceof NoAnswer && (error.failure.sent || error.failure.reason === 'session_lost')) return error;
    if (error instanceof NoAnswer && error.failure.error.cause instanceof RefusedInitialize) return error;
    throw error;
  }
}

function saysNothing({ failure }: NoAnswer): boolean {
  return mayBeAway(failure) || failure.reason === 'timeout';
}

function supportedVersions(answer: Answer): string[] | undefined {
  const { result, error } = answer;
  const listed =
    result?.supportedVersions ??
    (error?.code === UNSUPPORTED_VERSION && isJsonObject(error.data) ? error.data.supported : undefined);
  return Array.isArray(listed) ? listed.filter((one): one is string => typeof one === 'string') : undefined;
}

export function ownInitialize(version: string): string {
  return `{"protocolVersion":"${LATEST_LEGACY_REVISION}","capabilities":{},"clientInfo":{"name":"vmcp","version":"${version}"}}`;
}

async function tryInitialize(backend: Backend, settings: ProbeSettings, last?: ServerCapabilities): Promise<Finding> {
  const { identity, version } = settings;
  const answer = await tryAsk(backend, {
    ...settings,
    era: 'legacy',
    method: 'initialize',
    paramsText: ownInitialize(version),
    headers: [],
    isProbe: settings.isProbe ?? true,
  });
  if (answer instanceof NoAnswer && saysNothing(answer)) {
    const refusesInitialize = answer.failure.error.cause instanceof RefusedInitialize;
    return { ...unreachable(whyAway(answer.failure)), refusesInitialize };
  }
  // The request named no session, so a 404 means that the path does not exist.
  if (answer instanceof NoAnswer && answer.failure.reason === 'session_lost')
    return unreachable('answers 404: check the path of its URL, which is /mcp at most servers');
  if (answer instanceof NoAnswer) return unreachable('does not answer initialize as an MCP server: check its URL');
  if (!answer.result) {
    const refused = unreachable('refuses initialize: it speaks no revision that this gateway knows');
    return { ...refused, refusesInitialize: true };
  }
  void endSession(backend, identity, { sessionId: answer.sessionId, revision: revisionOf(answer.result) });
  return {
    reachable: true,
    eras: new Set<Era>(['legacy']),
    revisions: [revisionOf(answer.result)],
    capabilities: readCapabilities(answer.result, 'legacy', last),
    message: '',
  };
}

export function revisionOf(result: JsonObject): string {
  const revision = result.protocolVersion;
  return typeof revision === 'string' && LEGACY_REVISIONS.includes(revision) ? revision : LATEST_LEGACY_REVISION;
}

/** Settles when the backend has answered, or does not answer in time. Never rejects. */
export function endSession(
  backend: Backend,
  identity: Identity,
  { sessionId, revision, address }: Pick<BackendSession, 'sessionId' | 'revision' | 'address'>,
): Promise<void> {
  if (sessionId === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => resolve();
    const ignore = () => undefined;
    backend.send({
      identity,
      era: 'legacy',
      method: 'DELETE',
      idText: undefined,
      verb: 'DELETE',
      body: undefined,
      headers: ['mcp-session-id', sessionId, 'mcp-protocol-version', revision],
      address,
      deadline: 2_000,
      idempotent: false,
      isOneWay: true,
      sink: { json: done, accepted: done, open: ignore, event: ignore, close: done, fail: done },
    });
  });
}
