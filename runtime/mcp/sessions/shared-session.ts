import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import type { RecordSeal } from './record-seal.ts';
import { applyField, isBackendSession, isSubscription, type SessionField } from './session-record.ts';
import type { Session } from './session.ts';
import type { RecordChange, RecordName, StoredFields } from './storage/session-records.ts';

export interface SharedSession {
  readonly session: Session;
  readonly name: RecordName;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Versions of backend sessions, by field. A write names the version that it replaces. */
  readonly versions: Map<string, number>;
  /** The miss counter at the last read. While both are equal, the copy here is current. -1: read again. */
  subscribedIn: number;
  /** Milliseconds of the monotonic clock. */
  toldUse: number;
  isUnwritten: boolean;
}

export interface OpenedField extends SessionField {
  readonly version: number;
  /** Sealed with a secret that is no longer the first one. */
  readonly stale: boolean;
}

/** A backend session replaces only the version that this replica knows; other fields replace any. */
export function sealChanges(shared: SharedSession, fields: readonly SessionField[], seal: RecordSeal): RecordChange[] {
  return fields.map(({ name, plain }) => {
    const replaces = isBackendSession(name) ? (shared.versions.get(name) ?? 0) : undefined;
    const version = replaces === undefined ? 0 : replaces + 1;
    const value = plain === undefined ? undefined : `${version} ${seal.seal(shared.name, name, plain)}`;
    return { field: name, replaces, value };
  });
}

/** Backend sessions come last. Removed fields have no value. @throws UnknownSecret, SealBroken */
export function openFields(name: RecordName, fields: StoredFields, seal: RecordSeal): OpenedField[] {
  const opened: OpenedField[] = [];
  for (const [field, stored] of Object.entries(fields)) {
    const space = stored.indexOf(' ');
    if (stored === '') {
      opened.push({ name: field, plain: undefined, version: 0, stale: false });
      continue;
    }
    const { plain, stale } = seal.open(name, field, stored.slice(space + 1));
    opened.push({ name: field, plain, version: Number(stored.slice(0, space)), stale });
  }
  return opened.sort((a, b) => Number(isBackendSession(a.name)) - Number(isBackendSession(b.name)));
}

/** Ignores older versions of a backend session. */
export function takeField({ session, versions }: SharedSession, field: OpenedField, backends: BackendSet): void {
  if (isBackendSession(field.name)) {
    if ((versions.get(field.name) ?? 0) >= field.version) return;
    versions.set(field.name, field.version);
  }
  const backendSession = applyField(session, field, backends);
  if (backendSession) session.stream?.join(backendSession);
  if (isSubscription(field.name)) session.stream?.refresh();
}
