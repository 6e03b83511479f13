import type { Backend } from '#runtime/mcp/backends/backend';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { ASSUMED } from './capabilities.ts';
import { sha256 } from './record-seal.ts';
import type { ClientProfile, Leg, Session } from './session.ts';

// What of a session the other replicas have to know, field by field, so that two of them that change different things never
// undo each other's work. Lists, calls under way and streams are a replica's own.

/** A field before it is sealed. */
export interface SessionField {
  readonly name: string;
  /** undefined: it goes. */
  readonly plain: string | undefined;
}

const PROFILE = 'profile';
const LEVEL = 'level';
const LEG = 'leg:';
const RESOURCE = 'resource:';
const LOGIN = 'login:';
const STATE = 'state:';

/** The client has sent notifications/initialized. */
export const INITIALIZED: SessionField = { name: 'initialized', plain: '1' };

export function levelField(level: string): SessionField {
  return { name: LEVEL, plain: level };
}

/** `backend` undefined: it is unsubscribed from. */
export function subscriptionField(uri: string, backend: string | undefined): SessionField {
  return { name: RESOURCE + sha256(uri), plain: backend === undefined ? undefined : JSON.stringify([uri, backend]) };
}

/** A login that the client was asked to open; `provider` undefined: it is done. */
export function loginField(id: string, provider: string | undefined): SessionField {
  return { name: LOGIN + sha256(id), plain: provider === undefined ? undefined : JSON.stringify([id, provider]) };
}

/** The session has something at this backend that ends with the process that serves it. */
export function stateField(backend: string, isThere: boolean): SessionField {
  return { name: STATE + backend, plain: isThere ? '1' : undefined };
}

/** undefined: it is of no use to another process. */
export function legField({ backend, at, sessionId, revision, address }: Leg): SessionField | undefined {
  const name = legName(backend, at);
  return name === undefined ? undefined : { name, plain: JSON.stringify([sessionId ?? null, revision, address]) };
}

/** A session's id at one place is nobody else's business: a leg belongs to a URL, not only to a name. */
function legName(backend: string, { config }: Backend): string | undefined {
  // A session at a process or on a stream of events is the replica's own that has it.
  return config.transport !== 'streamable-http' ? undefined : `${LEG}${backend}:${sha256(config.url).slice(0, 12)}`;
}

/** All fields of a session. `openedAt`: milliseconds since the epoch. */
export function fieldsOfSession(session: Session, openedAt: number): SessionField[] {
  const { principal, countedFor, profile, initialized, logLevel } = session;
  const all: (SessionField | undefined)[] = [
    { name: PROFILE, plain: JSON.stringify({ principal, countedFor, openedAt, ...profile }) },
    initialized ? INITIALIZED : undefined,
    logLevel === undefined ? undefined : levelField(logLevel),
    ...session.legs.map(legField),
    ...[...(session.subscriptions ?? [])].map(([uri, backend]) => subscriptionField(uri, backend)),
    ...[...(session.elicitations ?? [])].map(([id, provider]) => loginField(id, provider)),
  ];
  return all.filter((field) => field !== undefined);
}

/** What a record says of who opened the session, and when. */
export interface StoredProfile {
  readonly principal: string;
  readonly countedFor: string;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly profile: ClientProfile;
}

/** Of text that was sealed here, so it is what was written. undefined: there is none among them. */
export function readProfile(fields: readonly SessionField[]): StoredProfile | undefined {
  const plain = fields.find(({ name }) => name === PROFILE)?.plain;
  if (plain === undefined) return undefined;
  const { principal, openedAt, ...profile } = JSON.parse(plain) as {
    principal: string;
    countedFor?: string;
    openedAt: number;
  } & ClientProfile;
  // Earlier releases wrote none.
  const { countedFor = principal } = profile;
  const { paramsText, capabilities, revision, clientName, clientVersion } = profile;
  return {
    principal,
    countedFor,
    openedAt,
    profile: { paramsText, capabilities, revision, clientName, clientVersion },
  };
}

/** Forgets what `applyField` sets, legs excepted: those are replaced by name. */
export function clearFields(session: Session): void {
  session.subscriptions = undefined;
  session.elicitations = undefined;
}

/**
 * Takes over what another replica wrote.
 * @returns the leg where it is one that is of use here
 */
export function applyField(session: Session, { name, plain }: SessionField, backends: BackendSet): Leg | undefined {
  if (name === INITIALIZED.name) noteInitialized(session);
  else if (name === LEVEL) session.logLevel = plain;
  else if (name.startsWith(RESOURCE)) session.subscriptions = withEntry(session.subscriptions, name, plain);
  else if (name.startsWith(LOGIN)) session.elicitations = withEntry(session.elicitations, name, plain);
  else if (name.startsWith(STATE)) noteLoss(session, name.slice(STATE.length), plain);
  else if (isLeg(name)) return applyLeg(session, name, plain, backends);
  return undefined;
}

/** Another process had it. */
function noteLoss(session: Session, backend: string, plain: string | undefined): void {
  if (plain !== undefined && !session.stateAt?.has(backend)) (session.lostAt ??= new Set()).add(backend);
}

function noteInitialized(session: Session): void {
  session.initialized = true;
  for (const leg of session.legs) leg.initialized = true;
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

function applyLeg(session: Session, name: string, plain: string | undefined, backends: BackendSet): Leg | undefined {
  const leg = readLeg({ name, plain }, backends);
  if (!leg) return undefined;
  leg.initialized = session.initialized;
  session.legs = [...session.legs.filter(({ backend }) => backend !== leg.backend), leg];
  return leg;
}

/** The leg of a field, where it is one, and its backend is in force here at the same place. */
export function readLeg({ name, plain }: SessionField, backends: BackendSet): Leg | undefined {
  if (!isLeg(name) || plain === undefined) return undefined;
  const at = backends.get(name.slice(LEG.length, name.lastIndexOf(':')));
  if (!at || legName(at.name, at) !== name) return undefined;
  const [id, revision, address] = JSON.parse(plain) as [string | null, string, string | null | undefined];
  const capabilities = at.health.capabilities ?? ASSUMED;
  const leg = { backend: at.name, at, sessionId: id ?? undefined, revision, capabilities, initialized: false };
  return typeof address === 'string' ? { ...leg, address } : leg;
}

export function isLeg(name: string): boolean {
  return name.startsWith(LEG);
}
