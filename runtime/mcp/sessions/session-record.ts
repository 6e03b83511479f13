import type { Backend } from '#runtime/mcp/backends/backend';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { ASSUMED } from './capabilities.ts';
import { sha256 } from './record-seal.ts';
import type { ClientProfile, BackendSession, Session } from './session.ts';

// Each field is stored on its own, so that replicas that change different fields do not overwrite each other.

export interface SessionField {
  readonly name: string;
  /** Undefined: the field is removed. */
  readonly plain: string | undefined;
}

const PROFILE = 'profile';
const LEVEL = 'level';
const BACKEND_SESSION = 'leg:';
const RESOURCE = 'resource:';
const LOGIN = 'login:';
const STATE = 'state:';
const TASK = 'task:';

export const INITIALIZED: SessionField = { name: 'initialized', plain: '1' };

export function levelField(level: string): SessionField {
  return { name: LEVEL, plain: level };
}

/** `backend` undefined: the client unsubscribed. */
export function subscriptionField(uri: string, backend: string | undefined): SessionField {
  return { name: RESOURCE + sha256(uri), plain: backend === undefined ? undefined : JSON.stringify([uri, backend]) };
}

/** `provider` undefined: the login is complete. */
export function loginField(id: string, provider: string | undefined): SessionField {
  return { name: LOGIN + sha256(id), plain: provider === undefined ? undefined : JSON.stringify([id, provider]) };
}

/** `taskId`: the client's. Undefined: the backend lost the task. */
export function taskField(key: string, taskId: string | undefined): SessionField {
  return { name: TASK + sha256(key), plain: taskId === undefined ? undefined : JSON.stringify([key, taskId]) };
}

export function stateField(backend: string, isThere: boolean): SessionField {
  return { name: STATE + backend, plain: isThere ? '1' : undefined };
}

/** Undefined if other processes cannot use the session. */
export function backendSessionField({
  backend,
  at,
  sessionId,
  revision,
  address,
}: BackendSession): SessionField | undefined {
  const name = backendSessionName(backend, at);
  return name === undefined ? undefined : { name, plain: JSON.stringify([sessionId ?? null, revision, address]) };
}

/** A backend session belongs to a URL: its id must not reach another server of the same name. */
function backendSessionName(backend: string, { config }: Backend): string | undefined {
  // Sessions at a process or on an event stream belong to one replica.
  return config.transport !== 'streamable-http'
    ? undefined
    : `${BACKEND_SESSION}${backend}:${sha256(config.url).slice(0, 12)}`;
}

/** `openedAt`: milliseconds since the epoch. */
export function fieldsOfSession(session: Session, openedAt: number): SessionField[] {
  const { principal, countedFor, profile, initialized, logLevel } = session;
  const all: (SessionField | undefined)[] = [
    { name: PROFILE, plain: JSON.stringify({ principal, countedFor, openedAt, ...profile }) },
    initialized ? INITIALIZED : undefined,
    logLevel === undefined ? undefined : levelField(logLevel),
    ...session.backendSessions.map(backendSessionField),
    ...[...(session.subscriptions ?? [])].map(([uri, backend]) => subscriptionField(uri, backend)),
    ...[...(session.elicitations ?? [])].map(([id, provider]) => loginField(id, provider)),
    ...[...(session.tasks ?? [])].map(([key, taskId]) => taskField(key, taskId)),
  ];
  return all.filter((field) => field !== undefined);
}

export interface StoredProfile {
  readonly principal: string;
  readonly countedFor: string;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly profile: ClientProfile;
}

/** The seal proves that a replica wrote the text, so it is not validated again. */
export function readProfile(fields: readonly SessionField[]): StoredProfile | undefined {
  const plain = fields.find(({ name }) => name === PROFILE)?.plain;
  if (plain === undefined) return undefined;
  const { principal, openedAt, ...profile } = JSON.parse(plain) as {
    principal: string;
    countedFor?: string;
    openedAt: number;
  } & ClientProfile;
  // Earlier releases wrote no `countedFor`.
  const { countedFor = principal } = profile;
  const { paramsText, capabilities, revision, clientName, clientVersion } = profile;
  return {
    principal,
    countedFor,
    openedAt,
    profile: { paramsText, capabilities, revision, clientName, clientVersion },
  };
}

/** Keeps backend sessions: fields replace those by name. */
export function clearFields(session: Session): void {
  session.subscriptions = undefined;
  session.elicitations = undefined;
  session.tasks = undefined;
}

/** @returns the backend session of the field, if this replica can use it */
export function applyField(
  session: Session,
  { name, plain }: SessionField,
  backends: BackendSet,
): BackendSession | undefined {
  if (name === INITIALIZED.name) noteInitialized(session);
  else if (name === LEVEL) session.logLevel = plain;
  else if (name.startsWith(RESOURCE)) session.subscriptions = withEntry(session.subscriptions, name, plain);
  else if (name.startsWith(LOGIN)) session.elicitations = withEntry(session.elicitations, name, plain);
  else if (name.startsWith(TASK)) session.tasks = withEntry(session.tasks, name, plain);
  else if (name.startsWith(STATE)) noteLoss(session, name.slice(STATE.length), plain);
  else if (isBackendSession(name)) return applyBackendSession(session, name, plain, backends);
  return undefined;
}

function noteLoss(session: Session, backend: string, plain: string | undefined): void {
  if (plain !== undefined && !session.stateAt?.has(backend)) (session.lostAt ??= new Set()).add(backend);
}

function noteInitialized(session: Session): void {
  session.initialized = true;
  for (const backendSession of session.backendSessions) backendSession.initialized = true;
}

function withEntry(
  entries: Map<string, string> | undefined,
  name: string,
  plain: string | undefined,
): Map<string, string> | undefined {
  if (plain !== undefined) {
    const [key, value] = JSON.parse(plain) as [string, string];
    return (entries ?? new Map<string, string>()).set(key, value);
  }
  const hash = name.slice(name.indexOf(':') + 1);
  for (const key of entries?.keys() ?? []) if (sha256(key) === hash) entries?.delete(key);
  return entries?.size === 0 ? undefined : entries;
}

function applyBackendSession(
  session: Session,
  name: string,
  plain: string | undefined,
  backends: BackendSet,
): BackendSession | undefined {
  const backendSession = readBackendSession({ name, plain }, backends);
  if (!backendSession) return undefined;
  backendSession.initialized = session.initialized;
  session.backendSessions = [
    ...session.backendSessions.filter(({ backend }) => backend !== backendSession.backend),
    backendSession,
  ];
  return backendSession;
}

/** Undefined for other fields, or if the backend is not in the active configuration at the same URL. */
export function readBackendSession({ name, plain }: SessionField, backends: BackendSet): BackendSession | undefined {
  if (!isBackendSession(name) || plain === undefined) return undefined;
  const at = backends.get(name.slice(BACKEND_SESSION.length, name.lastIndexOf(':')));
  if (!at || backendSessionName(at.name, at) !== name) return undefined;
  const [id, revision, address] = JSON.parse(plain) as [string | null, string, string | null | undefined];
  const capabilities = at.health.capabilities ?? ASSUMED;
  const backendSession = {
    backend: at.name,
    at,
    sessionId: id ?? undefined,
    revision,
    capabilities,
    initialized: false,
  };
  return typeof address === 'string' ? { ...backendSession, address } : backendSession;
}

export function isSubscription(name: string): boolean {
  return name.startsWith(RESOURCE);
}

export function isBackendSession(name: string): boolean {
  return name.startsWith(BACKEND_SESSION);
}
